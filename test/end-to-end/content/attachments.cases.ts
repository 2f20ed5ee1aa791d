import t from 'tap'
import { get, lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { createPicture, listUploads } from '../../support/upstream.ts'
import { emulatorOptions, generate, modelTurn, user, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway(emulatorOptions)

const FILE_ID = /^[0-9a-f-]{36}$/
const look = { text: 'look' }
const inline = (mimeType: string) => ({ inlineData: { mimeType, data: createPicture() } })

function sentMessages() {
  return lastUpstreamChat(emulator).body.messages
}

t.test('content 45, 46: inline pictures and documents are uploaded and attached', async t => {
  for (const mimeType of ['image/png', 'application/pdf', 'audio/wav', 'text/plain']) {
    const before = listUploads(emulator).length
    t.equal((await generate(gateway, 'v1', '', { contents: [user(look, inline(mimeType))] })).status, 200, mimeType)
    t.match(sentMessages(), [{ role: 'user', content: 'look', attachments: [FILE_ID] }])
    t.equal((await generate(gateway, 'v2', '', { contents: [user(inline(mimeType), look)] })).status, 200, mimeType)
    t.match(sentMessages()[0].content, [{ text: 'look' }, { files: [{ id: FILE_ID }] }])
    const uploads = listUploads(emulator).slice(before)
    t.equal(uploads.length, 2)
    for (const { headers } of uploads) t.match(headers['content-type'], /^multipart\/form-data/)
    const { authorization = '' } = uploads[0]?.headers ?? {}
    const stored = await get(`${emulator.baseUrl}/files/${sentMessages()[0].content[1].files[0].id}/content`, {
      authorization
    })
    t.equal(stored.headers.get('content-type'), mimeType)
  }
})

t.test('a picture of an unsupported type is an invalid argument', async t => {
  const before = upstreamChats(emulator).length
  for (const version of versions) {
    const response = await generate(gateway, version, '', { contents: [user(look, inline('image/webp'))] })
    t.equal(response.status, 400)
    t.match(response.json.error, {
      status: 'INVALID_ARGUMENT',
      details: [{ fieldViolations: [{ field: 'contents[0].parts[1].inlineData' }] }]
    })
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('content 48: a file at a loopback address is refused before any download', async t => {
  const before = emulator.requests.length
  for (const fileUri of [
    `http://127.0.0.1:${emulator.port}/x.png`,
    'https://127.0.0.1/x.png',
    'https://localhost/x.png',
    'https://[::1]/x.png',
    'https://2130706433/x.png',
    'https://10.0.0.1/x.png',
    'https://169.254.169.254/latest',
    'file:///etc/passwd',
    'gs://bucket/x.png'
  ]) {
    const contents = [user(look, { fileData: { fileUri, mimeType: 'image/png' } })]
    const response = await generate(gateway, 'v2', '', { contents })
    t.equal(response.status, 400, fileUri)
    t.match(response.json.error, { status: 'INVALID_ARGUMENT' }, fileUri)
  }
  t.equal(emulator.requests.length, before)
})

t.test('an uploaded file is attached by its id', async t => {
  const before = listUploads(emulator).length
  for (const fileUri of ['files/f-1', 'f-1']) {
    t.equal((await generate(gateway, 'v1', '', { contents: [user(look, { fileData: { fileUri } })] })).status, 200)
    t.strictSame(sentMessages()[0].attachments, ['f-1'])
  }
  t.equal(listUploads(emulator).length, before)
})

t.test('content 49: executable code in the history is dropped', async t => {
  const contents = [
    user({ text: 'a' }),
    modelTurn(
      { executableCode: { language: 'PYTHON', code: 'print(1)' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
      { text: 'b' }
    ),
    user({ text: 'c' }),
    modelTurn({ executableCode: { language: 'PYTHON', code: 'print(1)' } }),
    user({ text: 'd' })
  ]
  t.equal((await generate(gateway, 'v1', '', { contents })).status, 200)
  t.strictSame(sentMessages(), [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'c\nd' }
  ])
})

t.test('thoughts of the history are dropped', async t => {
  const contents = [user({ text: 'a' }), modelTurn({ text: 'hm', thought: true }, { text: 'b' }), user({ text: 'c' })]
  for (const version of versions) {
    t.equal((await generate(gateway, version, '', { contents })).status, 200)
    t.notMatch(JSON.stringify(sentMessages()), /hm/)
  }
})

t.test('media in a function response are attached to the user’s next message', async t => {
  const functionResponse = { name: 'f', response: { ok: true }, parts: [inline('image/png')] }
  const contents = [
    user({ text: 'a' }),
    modelTurn({ functionCall: { name: 'f', args: {} } }),
    user({ functionResponse }, { text: 'and?' })
  ]
  t.equal((await generate(gateway, 'v1', '', { contents })).status, 200)
  t.match(sentMessages().slice(2), [
    { role: 'function', content: '{"ok":true}' },
    { role: 'user', content: 'and?', attachments: [FILE_ID] }
  ])
})
