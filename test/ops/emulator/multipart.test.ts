// The multipart reader of file uploads.

import t from 'tap'
import { readMultipart } from '../../../ops/emulator/multipart.ts'
import * as fc from '../../support/properties.ts'

function read(text: string | Buffer, type = 'multipart/form-data; boundary=xy') {
  return readMultipart(Buffer.from(text), type)
}

t.test('fields and files are read, with quoted, unquoted and encoded names', async t => {
  const body = [
    'preamble\r\n--xy\r\nContent-Disposition: form-data; name="purpose"\r\n\r\ngeneral',
    '--xy  \r\ncontent-disposition: form-data; name=plain\r\n\r\n',
    '--xy\r\ncontent-disposition: form-data; name="file"; filename="a\\"b%22.png"\r\nContent-Type: image/png \r\n\r\n\r\n--x\r\n',
    '--xy\r\ncontent-disposition: form-data; name="other"; filename*=UTF-8\'\'%D1%8F.txt\r\n\r\nx',
    '--xy--\r\nepilogue'
  ].join('\r\n')
  t.same(read(body), {
    fields: { purpose: 'general', plain: '' },
    files: [
      { field: 'file', filename: 'a"b".png', contentType: 'image/png', content: Buffer.from('\r\n--x\r\n') },
      { field: 'other', filename: 'я.txt', contentType: 'application/octet-stream', content: Buffer.from('x') }
    ]
  })
})

t.test('another content type or a malformed form is refused', async t => {
  const good = '--xy\r\ncontent-disposition: form-data; name="a"\r\n\r\nb\r\n--xy--\r\n'
  t.same(read(good, 'multipart/form-data; charset=utf-8; boundary="xy"').fields, { a: 'b' })
  for (const [body, type] of [
    [good, 'application/json'],
    [good, 'multipart/form-data'],
    [good, 'multipart/form-data; boundary=other'],
    [good.replace('--xy--', ''), 'multipart/form-data; boundary=xy'],
    [good.replace('; name="a"', ''), 'multipart/form-data; boundary=xy'],
    ['--xy\r\nno headers\r\n--xy--', 'multipart/form-data; boundary=xy'],
    ['', 'multipart/form-data; boundary=xy']
  ]) {
    t.throws(() => read(body ?? '', type), { message: /multipart/ }, String(type))
  }
})

t.test('a form that Node writes is read with the same file bytes (property)', async t => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.string({ minLength: 1 }), async (bytes, name) => {
      const form = new FormData()
      form.append('purpose', 'general')
      form.append('file', new File([bytes], name, { type: 'image/png' }))
      const request = new Response(form)
      const received = readMultipart(
        Buffer.from(await request.arrayBuffer()),
        request.headers.get('content-type') ?? ''
      )
      return received.fields.purpose === 'general' && Buffer.compare(received.files[0]!.content, bytes) === 0
    })
  )
  t.pass()
})
