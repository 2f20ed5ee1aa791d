// Pictures and documents that a client names by a URL, in every family. The requests are served by a complete worker, in which
// downloads accept loopback addresses, because a test has no public address.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseSettings } from '../../shared/settings.ts'
import { providerFaces } from '../../worker/protocols/registry.ts'
import { createNativeKind } from '../../worker/providers/native/index.ts'
import { lastUpstreamChat, post } from '../support/client.ts'
import { emulatorVariables, startEmulator } from '../support/in-process-gateway.ts'
import { listUploads } from '../support/upstream.ts'
import { startWorker, workerOptions } from '../support/worker-app.ts'
import { startStub } from '../worker/providers/support/stub-upstream.ts'

const FILE_ID = /^[0-9a-f-]{36}$/
const model = 'GigaChat-2'
const readFixture = (name: string) => readFileSync(join(import.meta.dirname, '..', 'ops', 'emulator', 'fixtures', name))

const emulator = await startEmulator(t, { strictFiles: true })
const files = await startStub(
  (incoming, response) => {
    if (incoming.url.startsWith('/moved/')) {
      response.writeHead(302, { location: 'https://10.0.0.1/secret.png' })
      response.end()
      return
    }
    response.writeHead(200, { 'content-type': incoming.url.endsWith('.pdf') ? 'application/pdf' : 'image/png' })
    response.end(`the bytes of ${incoming.url}`)
  },
  { tls: { key: readFixture('server.key'), cert: readFixture('server.pem') } }
)
t.teardown(() => files.close())

const settings = parseSettings(emulatorVariables(emulator))
const kind = createNativeKind({
  downloadDependencies: {
    isAllowedAddress: address => address === '127.0.0.1',
    ca: readFixture('ca.pem').toString()
  }
})
const { url: gateway } = await startWorker(t, workerOptions(settings), {
  faces: providerFaces,
  kinds: { native: kind }
})

/** A request with this URL, in the form of each family. */
const families = {
  completions: (url: string, contract: string) =>
    post(`${gateway}/${contract}/chat/completions`, {
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: { url } }
          ]
        }
      ]
    }),
  responses: (url: string, contract: string) =>
    post(`${gateway}/${contract}/responses`, {
      model,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'see' },
            { type: 'input_file', file_url: url }
          ]
        }
      ]
    }),
  messages: (url: string, contract: string) =>
    post(`${gateway}/${contract}/messages`, {
      model,
      max_tokens: 10,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image', source: { type: 'url', url } }
          ]
        }
      ]
    }),
  content: (url: string, contract: string) =>
    post(`${gateway}/${contract}/v1beta/models/${model}:generateContent`, {
      contents: [{ role: 'user', parts: [{ text: 'see' }, { fileData: { fileUri: url } }] }]
    })
}

/** The requests to the file host and to the upstream that one request causes. */
async function follow(family: keyof typeof families, url: string, contract: string) {
  const downloads = files.requests.length
  const uploads = listUploads(emulator).length
  const response = await families[family](url, contract)
  return {
    response,
    downloads: files.requests.slice(downloads),
    uploads: listUploads(emulator).slice(uploads)
  }
}

t.test('content 47: a file at an https URL is downloaded by the guarded download and uploaded', async t => {
  for (const [contract, name] of [
    ['v1', 'a.png'],
    ['v2', 'b.pdf']
  ] as const) {
    const { response, downloads, uploads } = await follow('content', `${files.origin}/${contract}/${name}`, contract)
    t.equal(response.status, 200, response.text)
    t.equal(downloads.length, 1)
    t.match(downloads[0]?.headers, { 'user-agent': 'llm-gateway/0.0.0' })
    t.notOk('authorization' in (downloads[0]?.headers ?? {}), 'the host gets no credential')
    t.equal(uploads.length, 1)
    t.match(JSON.stringify(uploads[0]?.body), /general/)
    const [message] = lastUpstreamChat(emulator).body.messages
    if (contract === 'v1') t.match(message, { content: 'see', attachments: [FILE_ID] })
    else t.match(message.content, [{ text: 'see' }, { files: [{ id: FILE_ID }] }])
  }
})

t.test('every family downloads and uploads the file of a URL', async t => {
  for (const family of ['completions', 'responses', 'messages', 'content'] as const) {
    for (const contract of ['v1', 'v2']) {
      const url = `${files.origin}/${family}/${contract}.png`
      const { response, downloads, uploads } = await follow(family, url, contract)
      t.equal(response.status, 200, `${family} ${contract}`)
      t.equal(downloads.length, 1)
      t.equal(uploads.length, 1)
      t.match(JSON.stringify(lastUpstreamChat(emulator).body), /see.*[0-9a-f-]{36}/)
      const again = await follow(family, url, contract)
      t.equal(again.downloads.length, 0, 'the second request uses the uploaded file')
    }
  }
})

t.test('a redirect to a private address is refused in every family’s form', async t => {
  const url = `${files.origin}/moved/x.png`
  for (const family of ['completions', 'responses', 'messages', 'content'] as const) {
    const { response, uploads } = await follow(family, url, 'v1')
    t.equal(response.status, 400, family)
    t.equal(uploads.length, 0)
    t.notMatch(response.text, /10\.0\.0\.1|127\.0\.0\.1/)
  }
})
