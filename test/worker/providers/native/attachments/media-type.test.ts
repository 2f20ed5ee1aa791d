import t from 'tap'
import { classifyAttachment, mediaSubtype } from '../../../../../worker/providers/native/attachments/media-type.ts'

t.test('a known media type decides, then the first name with a known extension', async t => {
  t.same(classifyAttachment('IMAGE/png; x=y', ['a.pdf']), { kind: 'image', mediaType: 'image/png' })
  t.same(classifyAttachment('application/octet-stream', [undefined, '/path/report.PDF']), {
    kind: 'text',
    mediaType: 'application/pdf'
  })
  t.same(classifyAttachment('', ['a.weba']), { kind: 'audio', mediaType: 'audio/webm' })
  t.same(classifyAttachment('audio/mpeg', ['song.mp3']), { kind: 'audio', mediaType: 'audio/mp3' })
  for (const [mediaType, name] of [
    ['image/gif', 'a.gif'],
    ['image/webp', undefined],
    ['', undefined],
    ['', 'png'.repeat(3)],
    ['', 'a.constructor'],
    ['text/html', 'page.html']
  ] as const) {
    t.equal(classifyAttachment(mediaType, [name]), undefined, `${mediaType} ${name}`)
  }
  t.equal(mediaSubtype('audio/x-wav'), 'x-wav')
})
