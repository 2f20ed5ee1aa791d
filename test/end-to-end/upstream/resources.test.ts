// Embeddings, models, token counts and files (upstream.md 5 to 8) through a started gateway.

import t from 'tap'
import { get, lastUpstreamChat, post } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { ask, imagePart, lastReceived, model, received, textPart, versions } from './support.ts'

const emulator = await startEmulator(t, { strictFiles: true })
const gateway = await startGateway(t, {
  env: {
    ...emulatorVariables(emulator),
    GATEWAY_PASS_TOKEN: 'true',
    GATEWAY_MAX_IMAGE_FILE_SIZE_BYTES: '1000',
    GATEWAY_MAX_AUDIO_FILE_SIZE_BYTES: '2000',
    GATEWAY_MAX_TEXT_FILE_SIZE_BYTES: '3000',
    GATEWAY_MAX_AUDIO_IMAGE_TOTAL_SIZE_BYTES: '2500'
  }
})
const embeddings = (body: object) => post(`${gateway.url}/v1/embeddings`, body)

t.test('embeddings go as a list, and come back in the order of the texts with the sum of their tokens', async t => {
  await embeddings({ input: 'one text', model: 'Embeddings' })
  t.strictSame(lastReceived(emulator, '/embeddings').body, { input: ['one text'], model: 'Embeddings' })
  const response = await embeddings({ input: ['one', 'two words', 'three little words'], model: 'Embeddings' })
  t.equal(response.json.data.length, 3)
  for (const { embedding } of response.json.data) t.equal(embedding.length, 1024)
  emulator.respondNext({
    path: '/embeddings',
    body: {
      object: 'list',
      model: 'Embeddings',
      data: [
        { object: 'embedding', index: 1, embedding: [1], usage: { prompt_tokens: 7 } },
        { object: 'embedding', index: 0, embedding: [0], usage: { prompt_tokens: 5 } }
      ]
    }
  })
  const sorted = await embeddings({ input: ['a', 'b'], model: 'Embeddings' })
  t.strictSame(sorted.json.data, [
    { object: 'embedding', embedding: [0], index: 0 },
    { object: 'embedding', embedding: [1], index: 1 }
  ])
  t.strictSame(sorted.json.usage, { prompt_tokens: 12, total_tokens: 12 })
  emulator.respondNext({
    path: '/embeddings',
    body: { data: [{ embedding: [0.5] }], usage: { prompt_tokens: 3, total_tokens: 3 } }
  })
  const bare = await embeddings({ input: 'a', model: 'Embeddings' })
  t.match(bare.json, { data: [{ embedding: [0.5], index: 0 }], usage: { prompt_tokens: 3 }, model: 'Embeddings' })
})

t.test('an embeddings response that lacks a vector is a failure of the provider', async t => {
  for (const body of [
    { data: [{ embedding: [1] }] },
    { data: 'x' },
    {},
    { data: [{ embedding: [1] }, { embedding: 'x' }] }
  ]) {
    emulator.respondNext({ path: '/embeddings', body })
    const response = await embeddings({ input: ['a', 'b'], model: 'Embeddings' })
    t.equal(response.status, 502)
    t.match(response.json.error, { type: 'server_error', code: 'provider_protocol_error' })
  }
  const unknown = await embeddings({ input: 'a', model: 'NoSuchModel' })
  t.equal(unknown.status, 404)
  t.match(unknown.json.error, { type: 'not_found_error', code: 'model_not_found' })
})

t.test('models keep the type that the upstream gives them, and its unknown members', async t => {
  emulator.respondNext({
    path: '/models',
    body: {
      object: 'list',
      data: [
        { id: 'GigaFilter', object: 'model', owned_by: 'salutedevices', type: 'filter', context: 5, api_key: 'canary' },
        { id: 'Some-Embedding-Model', object: 'model' },
        { id: 'team/large', object: 'model', owned_by: 'x', type: 'chat' },
        { id: 'team/large', object: 'model', owned_by: 'second', type: 'chat' },
        { object: 'model' },
        'nonsense'
      ]
    }
  })
  const list = await get(`${gateway.url}/v1/models?refresh=TRUE`)
  t.match(list.json.data, [
    { id: 'GigaFilter', owned_by: 'salutedevices', metadata: { type: 'filter' }, context: 5 },
    { id: 'Some-Embedding-Model', owned_by: 'native', metadata: { type: 'embedder' } },
    { id: 'team/large', owned_by: 'x', metadata: { type: 'chat' } }
  ])
  t.equal(list.json.data.length, 3)
  t.notMatch(list.text, /canary/)
  for (const id of ['team/large', 'team%2Flarge', 'team%2flarge']) {
    const one = await get(`${gateway.url}/v1/models/${id}`)
    t.equal(one.status, 200, id)
    t.equal(one.json.id, 'team/large')
  }
})

t.test(
  'the list is fetched again only when it is old or a refresh is requested, and a failure keeps the old one',
  async t => {
    const first = await get(`${gateway.url}/v1/models?refresh=yes`)
    const before = received(emulator, '/models').length
    for (const query of ['', '?refresh=0', '?refresh=no', '?refresh', '?other=1']) {
      t.strictSame((await get(`${gateway.url}/v1/models${query}`)).json, first.json)
    }
    t.equal(received(emulator, '/models').length, before)
    for (const query of ['?refresh=1', '?refresh=true', '?refresh=Yes']) await get(`${gateway.url}/v1/models${query}`)
    t.equal(received(emulator, '/models').length, before + 3)
    emulator.failNext({ path: '/models', status: 500 })
    const stale = await get(`${gateway.url}/v1/models?refresh=1`)
    t.equal(stale.status, 200)
    t.strictSame(
      stale.json.data.map(({ id }: { id: string }) => id),
      first.json.data.map(({ id }: { id: string }) => id)
    )
    const ready = await get(`${gateway.url}/ready`)
    t.equal(ready.status, 200)
    t.strictSame(ready.json.warnings, [{ reason_id: 'model_inventory_stale_but_usable' }])
    t.equal(ready.json.model_catalog.state, 'stale')
    await get(`${gateway.url}/v1/models?refresh=1`)
    t.strictSame((await get(`${gateway.url}/ready`)).json.warnings, [])
  }
)

t.test('bridge 56: every credential of a client has a list of its own', async t => {
  const list = (token: string) => get(`${gateway.url}/v1/models`, { authorization: `Bearer upstream-cred-${token}` })
  const [ann, bob] = ['ann:1', 'bob:2'].map(pair => Buffer.from(pair).toString('base64'))
  const only = (id: string) =>
    emulator.respondNext({ path: '/models', body: { object: 'list', data: [{ id, object: 'model', type: 'chat' }] } })
  only('of-ann')
  t.strictSame(
    (await list(ann ?? '')).json.data.map(({ id }: { id: string }) => id),
    ['of-ann']
  )
  only('of-bob')
  t.strictSame(
    (await list(bob ?? '')).json.data.map(({ id }: { id: string }) => id),
    ['of-bob']
  )
  t.strictSame(
    (await list(ann ?? '')).json.data.map(({ id }: { id: string }) => id),
    ['of-ann']
  )
  t.ok((await get(`${gateway.url}/v1/models`)).json.data.length > 2, 'the server sees its own')
})

t.test('bridge 57: an oversized list is not taken over', async t => {
  const before = await get(`${gateway.url}/v1/models?refresh=1`)
  const data = Array.from({ length: 1025 }, (_, index) => ({ id: `model-${index}`, object: 'model' }))
  emulator.respondNext({ path: '/models', body: { object: 'list', data } })
  const after = await get(`${gateway.url}/v1/models?refresh=1`)
  t.strictSame(
    after.json.data.map(({ id }: { id: string }) => id),
    before.json.data.map(({ id }: { id: string }) => id)
  )
  t.equal((await get(`${gateway.url}/ready`)).json.model_catalog.state, 'stale')
  emulator.respondNext({ path: '/models', body: { object: 'list', data: data.slice(0, 1024) } })
  t.equal((await get(`${gateway.url}/v1/models?refresh=1`)).json.data.length, 1024)
  await get(`${gateway.url}/v1/models?refresh=1`)
})

t.test('tokens are counted by the upstream in one call, and the sum is returned', async t => {
  const counts = [
    { object: 'tokens', tokens: 2, characters: 10 },
    { object: 'tokens', tokens: 3, characters: 11 }
  ]
  const texts = [
    { role: 'user', content: 'First text' },
    { role: 'assistant', content: 'Second text' }
  ]
  const countMessages = (body: object) => post(`${gateway.url}/v1/messages/count_tokens`, { model, ...body })
  t.match((await countMessages({ messages: texts })).json, { input_tokens: Number })
  t.equal(received(emulator, '/tokens/count').length, 1)
  const { method, path, body } = lastReceived(emulator, '/tokens/count')
  t.equal(`${method} ${path}`, 'POST /api/v1/tokens/count')
  t.match(body, { model, input: [/First text/, /Second text/] })
  emulator.respondNext({ path: '/tokens/count', body: counts })
  t.strictSame((await countMessages({ messages: texts })).json, { input_tokens: 5 })
  emulator.respondNext({ path: '/tokens/count', body: counts })
  const content = await post(`${gateway.url}/v1beta/models/${model}:countTokens`, {
    contents: [
      { role: 'user', parts: [{ text: 'First text' }] },
      { role: 'model', parts: [{ text: 'Second text' }] }
    ]
  })
  t.equal(content.json.totalTokens, 5)

  const sent = received(emulator, '/tokens/count').length
  t.equal((await post(`${gateway.url}/v1beta/models/${model}:countTokens`, {})).json.totalTokens, 0)
  t.equal(received(emulator, '/tokens/count').length, sent, 'without text the provider is not asked')
  for (const [body, status] of [
    [{ status: 404, message: 'No such model' }, 404],
    [{ status: 429, message: 'Too Many Requests' }, 429]
  ] as const) {
    emulator.respondNext({ path: '/tokens/count', status, body })
    t.equal((await countMessages({ messages: texts })).status, status)
  }
  for (const body of [{ tokens: 1 }, [{ tokens: 'x' }], 'text']) {
    emulator.respondNext({ path: '/tokens/count', body })
    t.equal((await countMessages({ messages: texts })).status, 502)
  }
})

/** What the upstream noted of an upload. */
interface Upload {
  purpose?: string
  files: Array<{ field: string; filename: string; contentType: string; bytes: number }>
}

const uploads = (): Upload[] =>
  emulator.requests
    .filter(({ method, path }) => method === 'POST' && path === '/api/v1/files')
    .map(one => one.body as Upload)

const dataUrl = (type: string, bytes: number | string): string => {
  const content = typeof bytes === 'number' ? Buffer.alloc(bytes, String(uploads().length)) : Buffer.from(bytes)
  return `data:${type};base64,${content.toString('base64')}`
}
const filePart = (filename: string, file_data: string) => ({ type: 'file', file: { filename, file_data } })

t.test('a file is uploaded with its purpose, its name and its type', async t => {
  t.equal((await ask(gateway, 'v1', [textPart('look'), imagePart('image/jpeg')])).status, 200)
  t.match(uploads().at(-1), {
    purpose: 'general',
    files: [{ field: 'file', filename: /^[0-9a-f-]{36}\.jpeg$/, contentType: 'image/jpeg' }]
  })
  t.equal((await ask(gateway, 'v2', [filePart('отчёт "1".pdf', dataUrl('application/pdf', 'pdf'))])).status, 200)
  t.match(uploads().at(-1), {
    purpose: 'general',
    files: [{ field: 'file', filename: 'отчёт "1".pdf', contentType: 'application/pdf' }]
  })
})

t.test('an upload is remembered for its credential only', async t => {
  const picture = imagePart()
  const askAs = (headers: Record<string, string>) => ask(gateway, 'v1', [textPart('look'), picture], { headers })
  const [ann, bob] = ['ann:1', 'bob:2'].map(pair => ({
    authorization: `Bearer upstream-cred-${Buffer.from(pair).toString('base64')}`
  }))
  const before = uploads().length
  for (const headers of [{}, {}, ann ?? {}, ann ?? {}, bob ?? {}, {}]) t.equal((await askAs(headers)).status, 200)
  t.equal(uploads().length, before + 3, 'once for each account')
})

t.test('each kind of file has its own limit, and pictures and sound one together', async t => {
  const before = uploads().length
  for (const part of [
    { type: 'image_url', image_url: { url: dataUrl('image/png', 1001) } },
    filePart('a.mp3', dataUrl('audio/mp3', 2001)),
    filePart('a.txt', dataUrl('text/plain', 3001))
  ]) {
    const response = await ask(gateway, 'v1', [textPart('x'), part])
    t.equal(response.status, 413)
    t.match(response.json.error, {
      type: 'invalid_request_error',
      code: 'request_entity_too_large',
      param: 'attachments'
    })
  }
  const together = await ask(gateway, 'v1', [
    { type: 'image_url', image_url: { url: dataUrl('image/png', 900) } },
    filePart('a.mp3', dataUrl('audio/mp3', 1900))
  ])
  t.equal(together.status, 413)
  t.equal(uploads().length, before, 'nothing was sent')
  const exactly = await ask(gateway, 'v1', [
    { type: 'image_url', image_url: { url: dataUrl('image/png', 1000) } },
    filePart('a.txt', dataUrl('text/plain', 3000))
  ])
  t.equal(exactly.status, 200)
})

t.test('the type decides what a file is, where it says nothing the ending of the name', async t => {
  for (const [type, filename, status] of [
    ['application/octet-stream', 'a.pdf', 200],
    ['application/octet-stream', 'a.exe', 415],
    ['image/gif', 'a.gif', 415],
    ['image/webp', 'a.webp', 415],
    ['text/html', 'a.html', 415],
    ['image/bmp', 'a.bmp', 200],
    ['audio/x-wav', 'a.wav', 200],
    ['application/pptx', 'a.pptx', 200]
  ] as const) {
    const response = await ask(gateway, 'v2', [textPart('x'), filePart(filename, dataUrl(type, `${type} ${filename}`))])
    t.equal(response.status, status, `${type} ${filename}`)
    if (status === 415) t.match(response.json.error, { code: 'unsupported_media_type', param: 'attachments' })
  }
})

t.test('a message takes two files, a request the newest ten, and dropped files are reported', async t => {
  const turns = Array.from({ length: 7 }, (_, index) => [
    { role: 'user', content: [textPart(`turn ${index}`), imagePart(), imagePart(), imagePart()] },
    { role: 'assistant', content: 'fine' }
  ]).flat()
  for (const version of versions) {
    const before = uploads().length
    const response = await post(`${gateway.url}/${version}/chat/completions`, { model, messages: turns.slice(0, -1) })
    t.equal(response.status, 200)
    const counts = lastUpstreamChat(emulator)
      .body.messages.filter(({ role }: { role: string }) => role === 'user')
      .map((message: { attachments?: string[]; content: Array<{ files?: object[] }> }) =>
        version === 'v1' ? (message.attachments?.length ?? 0) : (message.content[1]?.files?.length ?? 0)
      )
    t.strictSame(counts, [0, 0, 2, 2, 2, 2, 2])
    if (version === 'v1') t.equal(uploads().length, before + 10, 'what is left out is not even uploaded')
    t.equal(response.json.metadata.upstream_dropped_attachments, '11')
  }
})

t.test('an attachment that cannot be had is an error, never silently missing', async t => {
  for (const [status, expected] of [
    [500, 500],
    [413, 413],
    [403, 403],
    [0, 502]
  ] as const) {
    // A connection that closes before its response is replaced once (decisions.md 112).
    emulator.failNext({ path: '/files', status, times: status === 0 ? 2 : 1 })
    const before = received(emulator, '/chat/completions').length
    const response = await ask(gateway, 'v1', [textPart('look'), imagePart()])
    t.equal(response.status, expected)
    t.match(response.json.error, { message: String, type: String })
    t.equal(received(emulator, '/chat/completions').length, before)
  }
  for (const [url, code] of [
    ['http://127.0.0.1/x.png', 'invalid_url'],
    ['http://localhost/x.png', 'invalid_url'],
    ['http://10.0.0.1/x.png', 'invalid_url'],
    ['http://[::1]/x.png', 'invalid_url'],
    ['http://2130706433/x.png', 'invalid_url'],
    ['http://user:pass@example.com/x.png', 'invalid_url'],
    ['file:///etc/passwd', 'invalid_url'],
    ['ftp://example.com/x.png', 'invalid_url'],
    ['data:image/png;base64,@@@', 'attachment_download_failed']
  ] as const) {
    const response = await ask(gateway, 'v1', [textPart('look'), { type: 'image_url', image_url: { url } }])
    t.equal(response.status, 400, url)
    t.match(response.json.error, { type: 'invalid_request_error', code, param: 'attachments' }, url)
    t.notMatch(response.text, /passwd|user:pass/)
  }
})

t.test('a file id is attached as it is', async t => {
  const info = await ask(gateway, 'v1', [textPart('look'), imagePart()])
  t.equal(info.status, 200)
  const [id] = lastUpstreamChat(emulator).body.messages[0].attachments
  const before = uploads().length
  for (const version of versions) {
    t.equal((await ask(gateway, version, [textPart('again'), { type: 'file', file: { file_id: id } }])).status, 200)
  }
  t.equal(uploads().length, before)
  t.strictSame(lastUpstreamChat(emulator).body.messages[0].content, [{ text: 'again' }, { files: [{ id }] }])
})

t.test('with images switched off pictures are dropped and other files stay', async t => {
  const other = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_ENABLE_IMAGES: 'false' } })
  const response = await ask(other, 'v1', [
    textPart('look'),
    imagePart(),
    filePart('a.txt', dataUrl('text/plain', 'kept'))
  ])
  t.equal(response.status, 200)
  const [message] = lastUpstreamChat(emulator).body.messages
  t.equal(message.content, 'look')
  t.equal(message.attachments.length, 1)
})
