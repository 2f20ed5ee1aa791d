import t from 'tap'
import { get, lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { createPicture, listUploads } from '../../support/upstream.ts'
import { ask, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway()

const FILE_ID = /^[0-9a-f-]{36}$/
const look = { type: 'text', text: 'look' }

function image(media_type: string | undefined = 'image/png') {
  return { type: 'image', source: { type: 'base64', media_type, data: createPicture() } }
}

function sentMessages() {
  return lastUpstreamChat(emulator).body.messages
}

t.test('messages 44: a picture on v1 is uploaded and attached to its message', async t => {
  const before = listUploads(emulator).length
  t.equal((await ask(gateway, 'v1', [look, image()])).status, 200)
  const uploads = listUploads(emulator).slice(before)
  t.equal(uploads.length, 1)
  t.match(uploads[0]?.headers['content-type'], /^multipart\/form-data/)
  t.match(uploads[0]?.body, { purpose: 'general' })
  t.match(sentMessages(), [{ role: 'user', content: 'look', attachments: [FILE_ID] }])
  t.equal(sentMessages()[0].attachments.length, 1)
})

t.test('messages 45: a picture on v2 is a files part after the text', async t => {
  t.equal((await ask(gateway, 'v2', [image(), look])).status, 200)
  t.match(sentMessages()[0].content, [{ text: 'look' }, { files: [{ id: FILE_ID }] }])
})

t.test('a picture without a media type is uploaded, and one with a file id is attached without an upload', async t => {
  const before = listUploads(emulator).length
  const { media_type: _type, ...source } = image().source
  t.equal((await ask(gateway, 'v1', [look, { type: 'image', source }])).status, 200)
  t.equal(listUploads(emulator).length, before + 1)
  const { authorization = '' } = listUploads(emulator).at(-1)?.headers ?? {}
  const file = await get(`${emulator.baseUrl}/files/${sentMessages()[0].attachments[0]}/content`, { authorization })
  t.equal(file.headers.get('content-type'), 'image/png')
  const stored = { type: 'image', source: { type: 'file', file_id: 'f-1' } }
  t.equal((await ask(gateway, 'v1', [look, stored])).status, 200)
  t.strictSame(sentMessages()[0].attachments, ['f-1'])
  t.equal(listUploads(emulator).length, before + 1, 'the file id is not uploaded')
})

t.test('messages 46: a picture of an unsupported type is refused with the path of its block', async t => {
  const chats = upstreamChats(emulator).length
  const uploads = listUploads(emulator).length
  for (const type of ['image/webp', 'image/gif']) {
    for (const version of versions) {
      const response = await ask(gateway, version, [look, image(type)])
      t.equal(response.status, 400)
      t.match(response.json.error, { type: 'invalid_request_error', message: /messages\.0\.content\.1/ })
    }
  }
  t.equal(upstreamChats(emulator).length, chats)
  t.equal(listUploads(emulator).length, uploads)
})

t.test('messages 47: documents of text and search results are text, other blocks are dropped', async t => {
  const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a document' } }
  const found = { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'found' }] }
  for (const [block, before] of [
    [document, 'a document\n'],
    [found, 't\ns\nfound\n'],
    [{ type: 'container_upload', file_id: 'x' }, ''],
    [{ type: 'of_tomorrow' }, '']
  ] as const) {
    t.equal((await ask(gateway, 'v1', [block, look])).status, 200)
    t.strictSame(sentMessages(), [{ role: 'user', content: `${before}look` }])
    t.equal((await ask(gateway, 'v2', [block, look])).status, 200)
    t.strictSame(sentMessages(), [{ role: 'user', content: [{ text: `${before}look` }] }])
  }
})

t.test('a picture inside a tool result is attached to the user’s next message', async t => {
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'shoot', input: {} }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'done' }, image()] },
        look
      ]
    }
  ]
  t.equal((await ask(gateway, 'v1', '', { messages })).status, 200)
  t.match(sentMessages().slice(2), [
    { role: 'function', content: '{"result":"done"}' },
    { role: 'user', content: 'look', attachments: [FILE_ID] }
  ])
})

t.test('a picture on a private address is refused', async t => {
  const source = { type: 'url', url: `http://127.0.0.1:${emulator.port}/x.png` }
  const response = await ask(gateway, 'v1', [look, { type: 'image', source }])
  t.equal(response.status, 400)
  t.match(response.json.error, { type: 'invalid_request_error' })
  t.notMatch(response.text, /127\.0\.0\.1/)
})
