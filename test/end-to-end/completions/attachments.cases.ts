import t from 'tap'
import { lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, startGateway } from '../../support/in-process-gateway.ts'
import { assertRefusedUnsent } from '../../support/sdk-refusal.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'

const model = 'GigaChat-2-Max'
const { emulator, gateway } = await startSharedGateway()
const v1 = `${gateway.url}/v1/chat/completions`
const v2 = `${gateway.url}/v2/chat/completions`

let images = 0

/** A data URL whose bytes no other test uses, so that it is not in the upload cache. */
function image(type = 'image/png'): object {
  const data = Buffer.from(`picture ${images++}`).toString('base64')
  return { type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }
}

function bodyWith(...parts: object[]) {
  return { model, messages: [{ role: 'user', content: [{ type: 'text', text: 'look' }, ...parts] }] }
}

function ask(url: string, ...parts: object[]) {
  return post(url, bodyWith(...parts))
}

function uploads() {
  return emulator.requests.filter(({ method, path }) => method === 'POST' && path === '/api/v1/files')
}

t.test('completions 38: a data URL image is uploaded and attached on v1', async t => {
  const before = uploads().length
  t.equal((await ask(v1, image())).status, 200)
  t.equal(uploads().length, before + 1)
  t.match(uploads().at(-1)?.body, { purpose: 'general' })
  const { messages } = lastUpstreamChat(emulator).body
  t.match(messages, [{ role: 'user', content: 'look', attachments: [/^[0-9a-f-]{36}$/] }])
  t.equal(messages[0].attachments.length, 1)
})

t.test('completions 39: a data URL image is uploaded and attached on v2', async t => {
  const before = uploads().length
  t.equal((await ask(v2, image())).status, 200)
  t.equal(uploads().length, before + 1)
  t.match(uploads().at(-1), { path: '/api/v1/files', body: { purpose: 'general' } })
  const [message] = lastUpstreamChat(emulator).body.messages
  t.match(message.content, [{ text: 'look' }, { files: [{ id: /^[0-9a-f-]{36}$/ }] }])
  t.equal(message.content.length, 2)
})

t.test('documents and audio are uploaded in the same way as images', async t => {
  const file = (file_data: string) => ({ type: 'file', file: { filename: 'a.pdf', file_data } })
  const pdf = file(`data:application/pdf;base64,${Buffer.from('pdf').toString('base64')}`)
  const audio = { type: 'input_audio', input_audio: { data: Buffer.from('wav').toString('base64'), format: 'wav' } }
  const before = uploads().length
  t.equal((await ask(v1, pdf, audio)).status, 200)
  t.equal(uploads().length, before + 2)
  t.equal(lastUpstreamChat(emulator).body.messages[0].attachments.length, 2)
  t.equal((await ask(v1, file(Buffer.from('bare base64').toString('base64')))).status, 200)
  t.equal(uploads().length, before + 3)
})

t.test('completions 40: an image type that the upstream does not support is refused', async t => {
  for (const url of [v1, v2]) {
    for (const type of ['image/gif', 'image/webp']) {
      const refusal = { status: 415, code: 'unsupported_media_type', param: 'attachments' }
      await assertRefusedUnsent(t, emulator, { url, body: bodyWith(image(type)) }, refusal)
    }
  }
})

t.test('completions 41: an image on a private address is refused', async t => {
  const addresses = [
    'http://127.0.0.1/x.png',
    'http://localhost/x.png',
    'http://10.0.0.1/x.png',
    'http://[::1]/x.png',
    'http://2130706433/x.png',
    'http://u:p@example.com/x.png',
    'ftp://example.com/x.png',
    'file:///etc/passwd'
  ]
  for (const url of [v1, v2]) {
    for (const address of addresses) {
      const body = bodyWith({ type: 'image_url', image_url: { url: address } })
      const refusal = { status: 400, code: 'invalid_url', param: 'attachments' }
      await assertRefusedUnsent(t, emulator, { url, body }, refusal)
    }
  }
})

t.test('completions 42: a file id is attached without an upload', async t => {
  const before = uploads().length
  t.equal((await ask(v2, { type: 'file', file: { file_id: 'f1' } })).status, 200)
  t.strictSame(lastUpstreamChat(emulator).body.messages[0].content.at(-1), { files: [{ id: 'f1' }] })
  t.equal(uploads().length, before)
})

t.test('completions 43: an image sent twice is uploaded once', async t => {
  const same = image()
  const before = uploads().length
  t.equal((await ask(v1, same)).status, 200)
  t.equal((await ask(v2, same)).status, 200)
  t.equal(uploads().length, before + 1)
})

t.test('attachments of a message beyond the second are dropped and counted', async t => {
  const response = await ask(v1, image(), image(), image())
  t.equal(lastUpstreamChat(emulator).body.messages[0].attachments.length, 2)
  t.equal(response.json.metadata.upstream_dropped_attachments, '1')
})

t.test('a body above the threshold of the translation pool gets the same response', async t => {
  const other = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_POOL_THRESHOLD_BYTES: '1000' } })
  const long = 'word '.repeat(500)
  const picture = image()
  const response = await post(`${other.url}/v2/chat/completions`, {
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: long }, picture] }]
  })
  t.equal(response.status, 200)
  t.match(lastUpstreamChat(emulator).body.messages[0].content, [{ text: long }, { files: [{ id: /^[0-9a-f-]{36}$/ }] }])
  const refused = await post(`${other.url}/v2/chat/completions`, {
    model,
    messages: [{ role: 'user', content: long, x: 1 }, { content: long }]
  })
  t.equal(refused.status, 400)
  t.match(refused.json.error.param, /^messages\[1\]/)
})
