import t from 'tap'
import { readMediaUrl } from '../../../../worker/protocols/shared/media-source.ts'

t.test('a base64 data URL becomes bytes of its media type', async t => {
  t.strictSame(readMediaUrl('data:image/png;base64,AAEC'), { kind: 'bytes', mediaType: 'image/png', base64: 'AAEC' })
  t.strictSame(readMediaUrl('DATA:Image/PNG;name=a,b.png'), { kind: 'url', url: 'DATA:Image/PNG;name=a,b.png' })
  const withParameter = readMediaUrl('data:text/plain;charset=utf-8;BASE64,aGk=')
  t.strictSame(withParameter, { kind: 'bytes', mediaType: 'text/plain', base64: 'aGk=' })
  t.strictSame(readMediaUrl('data:;base64,aGk='), { kind: 'bytes', mediaType: '', base64: 'aGk=' })
})

t.test('every other URL stays a URL', async t => {
  for (const url of ['https://example.test/a.png', 'ftp://x', 'data:text/plain,hi', 'data:', 'nonsense']) {
    t.strictSame(readMediaUrl(url), { kind: 'url', url })
  }
})
