import t from 'tap'
import { createEmulator, type Emulator } from '../../../../../ops/emulator/server.ts'
import { Secret } from '../../../../../shared/secrets/secret.ts'
import { GatewayError } from '../../../../../worker/normalized/index.ts'
import type { PendingAttachment } from '../../../../../worker/protocols/provider-face.ts'
import { chatCall, contextOf, createSink, emulatorEnv, startPool } from '../../support/native.ts'
import { rejection } from '../../support/rejection.ts'
import { type StubServer, startStub } from '../../support/stub-upstream.ts'

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')

const downloadDependencies = {
  resolve: async () => ['127.0.0.1'],
  isAllowedAddress: (address: string) => address === '127.0.0.1'
}

function bytesOf(content: Buffer, mediaType = 'image/png', number = 0): PendingAttachment {
  return {
    placeholder: `gateway-attachment/r1/${number}`,
    source: { kind: 'bytes', mediaType, base64: content.toString('base64') },
    path: 'attachments'
  }
}

function urlOf(stub: StubServer, path: string, number = 0): PendingAttachment {
  return {
    placeholder: `gateway-attachment/r1/${number}`,
    source: { kind: 'url', url: `http://files.example:${stub.port}${path}` },
    path: 'attachments'
  }
}

function uploadsOf(emulator: Emulator) {
  return emulator.requests.filter(request => request.method === 'POST' && request.path === '/api/v1/files')
}

function startFiles(): Promise<StubServer> {
  return startStub((incoming, response) => {
    const [, type, size] = /^\/(\w+)\/(\d+)/.exec(incoming.url) ?? []
    const mediaType = { png: 'image/png', wav: 'audio/wav', txt: 'text/plain', bin: 'application/octet-stream' }[
      type ?? ''
    ]
    response.writeHead(200, { 'content-type': mediaType ?? 'image/gif' })
    response.end(Buffer.alloc(Number(size), incoming.url))
  })
}

t.test('completions 38, 39: bytes are uploaded with purpose general and their id stands in the body', async t => {
  const emulator = await createEmulator({ strictFiles: true })
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  await executor.complete(chatCall('see', { attachments: [bytesOf(PNG)] }), contextOf())
  const [upload] = uploadsOf(emulator)
  t.match(upload?.headers['content-type'], /^multipart\/form-data; boundary=/)
  t.match(JSON.stringify(upload?.body), /general/)
  t.match(JSON.stringify(upload?.body), /[0-9a-f-]{36}\.png/)
  const chat = emulator.requests.at(-1)
  const sent = JSON.stringify(chat?.body)
  t.notMatch(sent, 'gateway-attachment')
  t.match(sent, /"attachments":\["[0-9a-f-]{36}"\]/)

  const v2 = chatCall('see', {
    apiMode: 'v2',
    isStream: true,
    attachments: [{ ...bytesOf(PNG), filename: 'my.png' }]
  })
  const sink = createSink()
  await executor.stream(v2, contextOf(), sink)
  t.match(JSON.stringify(emulator.requests.at(-1)?.body), /"files":\[{"id":"[0-9a-f-]{36}"}\]/)
  t.match(JSON.stringify(uploadsOf(emulator).at(-1)?.body), /my\.png/)
})

t.test('completions 43: the same image twice is one upload, per credential', async t => {
  const emulator = await createEmulator({ strictFiles: true, accessTokens: ['abc'] })
  t.teardown(() => emulator.close())
  const { pool, executor } = startPool(t, emulatorEnv(emulator))
  const call = chatCall('see', { attachments: [bytesOf(PNG)] })
  await Promise.all([executor.complete(call, contextOf()), executor.complete(call, contextOf())])
  await executor.complete(call, contextOf())
  t.equal(uploadsOf(emulator).length, 1)
  const other = pool.acquire({ type: 'access-token', accessToken: new Secret('abc') })
  await other.executor.complete(call, contextOf())
  other.release()
  t.equal(uploadsOf(emulator).length, 2)
})

t.test('bytes are remembered for an hour and URLs for five minutes', async t => {
  const clock = { nowMs: 1_800_000_000_000 }
  const emulator = await createEmulator()
  const files = await startFiles()
  t.teardown(() => Promise.all([emulator.close(), files.close()]))
  const { executor } = startPool(t, emulatorEnv(emulator), { now: () => clock.nowMs, downloadDependencies })
  const bytes = chatCall('see', { attachments: [bytesOf(PNG)] })
  const url = chatCall('see', { attachments: [urlOf(files, '/png/10')] })
  const run = async () => {
    await executor.complete(bytes, contextOf())
    await executor.complete(url, contextOf())
    return [uploadsOf(emulator).length, files.requests.length]
  }
  t.same(await run(), [2, 1])
  clock.nowMs += 299_999
  t.same(await run(), [2, 1])
  clock.nowMs += 1
  t.same(await run(), [3, 2])
  clock.nowMs = 1_800_000_000_000 + 3_600_000
  t.same(await run(), [5, 3])
})

t.test('a URL is fetched and uploaded with the type it turned out to have', async t => {
  const emulator = await createEmulator({ strictFiles: true })
  const files = await startFiles()
  t.teardown(() => Promise.all([emulator.close(), files.close()]))
  const { executor } = startPool(t, emulatorEnv(emulator), { downloadDependencies })
  await executor.complete(chatCall('see', { attachments: [urlOf(files, '/bin/5/report.pdf')] }), contextOf())
  t.match(JSON.stringify(uploadsOf(emulator)[0]?.body), /\.pdf/)
  t.match(files.requests[0]?.headers, { 'user-agent': 'llm-gateway/1.2.3' })
  t.equal(files.requests[0]?.headers['x-request-id'], undefined)
})

t.test('each kind has its own largest size, and images and audio have one together', async t => {
  const emulator = await createEmulator()
  const files = await startFiles()
  t.teardown(() => Promise.all([emulator.close(), files.close()]))
  const limits = {
    GATEWAY_MAX_IMAGE_FILE_SIZE_BYTES: '100',
    GATEWAY_MAX_AUDIO_FILE_SIZE_BYTES: '200',
    GATEWAY_MAX_TEXT_FILE_SIZE_BYTES: '300',
    GATEWAY_MAX_AUDIO_IMAGE_TOTAL_SIZE_BYTES: '250'
  }
  const { executor } = startPool(t, emulatorEnv(emulator, limits), { downloadDependencies })
  const run = (...paths: string[]) => {
    const attachments = paths.map((path, number) => urlOf(files, path, number))
    return executor.complete(chatCall('see', { attachments }), contextOf())
  }
  await run('/png/100')
  await run('/wav/200')
  await run('/txt/300')
  await run('/png/100/a', '/wav/150', '/txt/300/a')
  for (const paths of [['/png/101'], ['/wav/201'], ['/txt/301'], ['/png/100/b', '/wav/151']]) {
    const error = await rejection(run(...paths))
    t.match(error, { code: 'request_entity_too_large', status: 413, param: 'attachments' }, paths.join())
  }
  // What is with the upstream already counts like anything else.
  t.match(await rejection(run('/png/100', '/png/100/a', '/png/100/b')), { code: 'request_entity_too_large' })

  const bytes = (size: number, mediaType: string, number: number) => bytesOf(Buffer.alloc(size, 'b'), mediaType, number)
  const large = executor.complete(chatCall('see', { attachments: [bytes(101, 'image/png', 0)] }), contextOf())
  t.match(await rejection(large), { code: 'request_entity_too_large' })
  const exact = chatCall('see', { attachments: [bytes(100, 'image/png', 0), bytes(150, 'audio/wav', 1)] })
  await executor.complete(exact, contextOf())
})

t.test('a type that the upstream does not take is refused with the path of the attachment', async t => {
  const emulator = await createEmulator()
  const files = await startFiles()
  t.teardown(() => Promise.all([emulator.close(), files.close()]))
  const { executor } = startPool(t, emulatorEnv(emulator), { downloadDependencies })
  const gif = [urlOf(files, '/gif/5')]
  const failed = executor.complete(chatCall('see', { attachments: gif }), contextOf())
  t.match(await rejection(failed), { code: 'unsupported_media_type', status: 415, param: 'attachments' })
  const bytes = chatCall('see', { attachments: [bytesOf(PNG, 'image/gif')] })
  t.match(await rejection(executor.complete(bytes, contextOf())), { code: 'unsupported_media_type' })
  t.equal(uploadsOf(emulator).length, 0)
})

t.test('requests that wait for one upload get its failure, each with its own path', async t => {
  const emulator = await createEmulator()
  const files = await startFiles()
  t.teardown(() => Promise.all([emulator.close(), files.close()]))
  const { executor } = startPool(t, emulatorEnv(emulator), { downloadDependencies })
  const ask = (path: string) => {
    const attachments = [{ ...urlOf(files, '/odd/1'), path }]
    return rejection(executor.complete(chatCall('see', { attachments }), contextOf()))
  }
  const [first, second] = await Promise.all([ask('messages[0].content[7]'), ask('attachments')])
  t.equal(files.requests.length, 1)
  t.match(first, { code: 'unsupported_media_type', status: 415, param: 'messages[0].content[7]' })
  t.match(second, { code: 'unsupported_media_type', status: 415, param: 'attachments' })
})

t.test('an attachment is never silently missing', async t => {
  const emulator = await createEmulator()
  const files = await startStub((_request, response) => void response.writeHead(404).end())
  t.teardown(() => Promise.all([emulator.close(), files.close()]))
  const { executor } = startPool(t, emulatorEnv(emulator), { downloadDependencies })
  const run = (attachment: PendingAttachment) =>
    rejection(executor.complete(chatCall('see', { attachments: [attachment] }), contextOf()))
  t.match(await run(urlOf(files, '/gone')), { code: 'attachment_download_failed', status: 400 })
  t.match(await run({ ...bytesOf(PNG), source: { kind: 'bytes', mediaType: 'image/png', base64: '' } }), {
    code: 'attachment_download_failed'
  })
  t.match(await run({ ...bytesOf(PNG), source: { kind: 'bytes', mediaType: 'image/png', base64: '###!!!###!!!' } }), {
    code: 'attachment_download_failed'
  })
  const dataUrl = `data:image/png;base64,${PNG.toString('base64')}`
  t.match(await run({ ...bytesOf(PNG), source: { kind: 'bytes', mediaType: 'image/png', base64: dataUrl } }), {
    code: 'attachment_download_failed'
  })
  emulator.failNext({ path: '/files', status: 429, retryAfter: '3' })
  t.match(await run(bytesOf(PNG)), { code: 'rate_limited', status: 429, retryAfter: '3' })
  emulator.respondNext({ path: '/api/v1/files', body: '{"object":"file"}' })
  t.match(await run(bytesOf(PNG)), { code: 'provider_protocol_error' })
  t.equal(emulator.requests.filter(request => request.path.includes('chat')).length, 0)
})

t.test('completions 41: the product itself fetches nothing from loopback', async t => {
  const emulator = await createEmulator()
  const files = await startFiles()
  t.teardown(() => Promise.all([emulator.close(), files.close()]))
  const { executor } = startPool(t, emulatorEnv(emulator))
  const source = { kind: 'url', url: `${files.origin}/png/5` } as const
  const call = chatCall('see', { attachments: [{ ...urlOf(files, ''), source, path: 'contents[0].parts[1]' }] })
  t.match(await rejection(executor.complete(call, contextOf())), {
    code: 'invalid_url',
    status: 400,
    param: 'contents[0].parts[1]'
  })
  t.equal(files.requests.length, 0)
})

t.test('a client disconnect during a download or an upload ends it', async t => {
  const emulator = await createEmulator()
  const files = await startStub((_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' }).write('x')
  })
  t.teardown(() => Promise.all([emulator.close(), files.close()]))
  const { executor } = startPool(t, emulatorEnv(emulator), { downloadDependencies })
  await executor.complete(chatCall('warm the token'), contextOf())

  const downloading = new AbortController()
  const download = executor.stream(
    chatCall('see', { isStream: true, attachments: [urlOf(files, '/slow.png')] }),
    contextOf({ signal: downloading.signal }),
    createSink()
  )
  await files.arrived(1)
  const aborted = files.nextAbort()
  downloading.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(download), { code: 'client_disconnected' })
  await aborted

  emulator.reset()
  emulator.failNext({ path: '/files', hang: true })
  const uploading = new AbortController()
  const upload = executor.complete(
    chatCall('see', { attachments: [bytesOf(PNG)] }),
    contextOf({ signal: uploading.signal })
  )
  await emulator.waitFor(({ stats }) => stats.activeRequests === 1)
  uploading.abort(new GatewayError('client_disconnected'))
  t.match(await rejection(upload), { code: 'client_disconnected' })
  await emulator.waitFor(({ stats }) => stats.aborted === 1 && stats.activeRequests === 0)
})

t.test('a large file travels whole', async t => {
  const emulator = await createEmulator({ strictFiles: true })
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const content = Buffer.alloc(5_000_000)
  for (let index = 0; index < content.length; index += 1) content[index] = index % 251
  await executor.complete(chatCall('see', { attachments: [bytesOf(content)] }), contextOf())
  const chat = JSON.stringify(emulator.requests.at(-1)?.body)
  const fileId = /"attachments":\["([^"]+)"\]/.exec(chat)?.[1] ?? ''
  const authorization = emulator.requests.at(-1)?.headers.authorization ?? ''
  const stored = await fetch(`${emulator.baseUrl}/files/${fileId}/content`, { headers: { authorization } })
  t.ok(Buffer.from(await stored.arrayBuffer()).equals(content))
})
