import t from 'tap'
import { writeMultipart } from '../../../../../worker/providers/native/attachments/multipart.ts'
import { parseForm } from './parse-form.ts'

t.test('fields and the file arrive as they were', async t => {
  const bytes = Buffer.from([0, 1, 2, 13, 10, 45, 45, 255])
  const { contentType, body } = writeMultipart(
    { purpose: 'general' },
    { bytes, filename: 'фото.png', mediaType: 'image/png' }
  )
  const form = await parseForm(contentType, body)
  t.equal(form.get('purpose'), 'general')
  const file = form.get('file')
  t.ok(file instanceof File)
  const part = file as File
  t.equal(part.name, 'фото.png')
  t.equal(part.type, 'image/png')
  t.same(Buffer.from(await part.arrayBuffer()), bytes)
})

t.test('a name can neither end its quotes nor add a header', async t => {
  const filename = 'a"; name="purpose"\r\nX-Evil: 1\r\n\r\nb.png'
  const { contentType, body } = writeMultipart(
    { purpose: 'general' },
    { bytes: Buffer.from('x'), filename, mediaType: 'image/png\r\nX-Evil: 2' }
  )
  t.notMatch(body.toString(), /\r\nX-Evil/)
  const form = await parseForm(contentType, body)
  t.same([...form.keys()], ['purpose', 'file'])
})
