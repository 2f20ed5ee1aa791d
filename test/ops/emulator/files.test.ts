// The file store: upload, list, info, content, delete, and the separation of accounts.
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { createFileStore } from '../../../ops/emulator/files.ts'
import { fetchToken, startClient } from './support.ts'

function writeForm(
  content: Buffer,
  head: { filename?: string; purpose?: string; field?: string }
): { body: Buffer; type: string } {
  const { filename = 'photo.png', field = 'file' } = head
  const purpose =
    head.purpose === undefined ? '' : `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\n${head.purpose}\r\n`
  const start = `${purpose}--b\r\ncontent-disposition: form-data; name="${field}"; filename="${filename}"\r\ncontent-type: image/png\r\n\r\n`
  return {
    body: Buffer.concat([Buffer.from(start), content, Buffer.from('\r\n--b--\r\n')]),
    type: 'multipart/form-data; boundary=b'
  }
}

t.test('a file keeps its exact bytes from upload to delete', async t => {
  const { call, emulator } = await startClient(t, { now: () => 1_767_225_600_000 })
  const bytes = randomBytes(10_000)
  const form = writeForm(bytes, { filename: 'фото.png', purpose: 'assistant' })
  const upload = await call('/api/v1/files', { body: form.body, headers: { 'content-type': form.type } })
  t.equal(upload.status, 200)
  const file = JSON.parse(upload.text)
  t.same(file, {
    id: file.id,
    object: 'file',
    bytes: 10_000,
    access_policy: 'private',
    created_at: 1_767_225_600,
    filename: 'фото.png',
    purpose: 'assistant'
  })
  t.match(emulator.requests.at(-1)?.body, {
    purpose: 'assistant',
    files: [{ field: 'file', filename: 'фото.png', contentType: 'image/png', bytes: 10_000 }]
  })
  t.same(JSON.parse((await call('/api/v1/files')).text), { data: [file] })
  t.same(JSON.parse((await call(`/api/v1/files/${file.id}`)).text), file)
  const content = await call(`/api/v1/files/${file.id}/content`, { headers: { accept: 'application/jpg' } })
  t.equal(content.headers['content-type'], 'image/png')
  t.same(
    createHash('sha256').update(Buffer.concat(content.reads)).digest('hex'),
    createHash('sha256').update(bytes).digest('hex')
  )
  const deleted = await call(`/api/v1/files/${file.id}/delete`, { method: 'POST' })
  t.same(JSON.parse(deleted.text), { id: file.id, object: 'file', deleted: true })
  t.equal((await call(`/api/v1/files/${file.id}`)).status, 404)
})

t.test('invalid uploads are refused', async t => {
  const { call } = await startClient(t)
  const upload = (body: Buffer | string, type: string) =>
    call('/api/v1/files', { body, headers: { 'content-type': type } })
  const good = writeForm(Buffer.from('x'), {})
  t.equal((await upload(good.body, good.type)).status, 200)
  t.equal((await upload('{}', 'application/json')).status, 400)
  t.equal((await upload('nonsense', good.type)).status, 400)
  t.equal((await upload(writeForm(Buffer.from('x'), { field: 'other' }).body, good.type)).status, 400)
  t.equal((await upload(writeForm(Buffer.from('x'), { purpose: 'fun' }).body, good.type)).status, 422)
})

t.test('a file is invisible to another account', async t => {
  const { call, emulator } = await startClient(t)
  const form = writeForm(Buffer.from('x'), {})
  const file = JSON.parse(
    (await call('/api/v1/files', { body: form.body, headers: { 'content-type': form.type } })).text
  )
  const other = await fetchToken(emulator, Buffer.from('other:secret').toString('base64'))
  const headers = { authorization: `Bearer ${other}` }
  t.equal((await call(`/api/v1/files/${file.id}`, { headers })).status, 404)
  t.same(JSON.parse((await call('/api/v1/files', { headers })).text), { data: [] })
  const again = await fetchToken(emulator)
  t.equal((await call(`/api/v1/files/${file.id}`, { headers: { authorization: `Bearer ${again}` } })).status, 200)
})

t.test('the store removes the oldest file when it holds more than 1000', async t => {
  const store = createFileStore(() => 0)
  const add = () => store.add({ account: 'a', filename: 'f', contentType: 'text/plain', content: Buffer.from('x') })
  const first = add()
  for (let index = 0; index < 1000; index++) add()
  t.notOk(store.has('a', first.id))
  t.equal(store.list('a').length, 1000)
})
