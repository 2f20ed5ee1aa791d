import t from 'tap'
import { readFileData, readMediaUrl } from '../../../../../worker/protocols/shared/media/media-source.ts'

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

t.test('the data of a file is a URL, or base64 without a media type', async t => {
  t.strictSame(readFileData('data:application/pdf;base64,AAEC'), readMediaUrl('data:application/pdf;base64,AAEC'))
  t.strictSame(readFileData('https://example.test/a.pdf'), { kind: 'url', url: 'https://example.test/a.pdf' })
  for (const base64 of ['AAEC', 'AA+/', 'AAE=']) {
    t.strictSame(readFileData(base64), { kind: 'bytes', mediaType: '', base64 })
  }
})
