import t from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import { createFileCalls } from '../../../../worker/providers/native/files.ts'
import { createTestClient } from '../support/http.ts'
import { contextOf, emulatorEnv, startPool } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

t.test('embeddings come in the order of the texts, with the sum of their tokens', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  // Embeddings stay on v1 while the base names v2.
  const base = emulator.baseUrl.replace('/v1', '/v2')
  const { executor } = startPool(t, emulatorEnv(emulator, { UPSTREAM_BASE_URL: base }))
  const result = await executor.embed({ model: 'Embeddings', input: ['one', 'two'] }, contextOf())
  t.equal(result.vectors.length, 2)
  t.equal(result.vectors[0]?.length, 1024)
  t.ok((result.promptTokens ?? 0) > 0)
  t.ok(result.metadata.upstream_x_request_id)
  t.match(emulator.requests.at(-1), {
    path: '/api/v1/embeddings',
    body: { input: ['one', 'two'], model: 'Embeddings' }
  })
  const unknown = rejection(executor.embed({ model: 'missing', input: ['x'] }, contextOf()))
  t.match(await unknown, { status: 404 })
})

t.test('the model list keeps the upstream type and unknown members', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const models = await executor.listModels(contextOf())
  t.match(
    models.entries.find(entry => entry.id === 'Embeddings'),
    { modelType: 'embedder', available: true }
  )
  t.equal(models.skippedCount, 0)

  const stub = await startStub((_request, response) =>
    sendJson(response, 200, { data: [{ id: 'a', type: 'chat', extra: 1, token: 'secret' }, { id: 'a' }, {}] })
  )
  t.teardown(() => stub.close())
  const unusual = await startPool(t, { UPSTREAM_BASE_URL: stub.origin }).executor.listModels(contextOf())
  t.same(
    unusual.entries.map(entry => entry.providerMetadata),
    [{ extra: 1 }]
  )
  t.match(unusual, { skippedCount: 1, duplicateCount: 1 })
})

t.test('a model list that cannot be used is a protocol error', async t => {
  const bodies: unknown[] = [
    {},
    { data: 'x' },
    { data: [{}] },
    { data: Array.from({ length: 1025 }, (_, index) => ({ id: `m${index}` })) },
    { data: [{ id: 'a', note: 'x'.repeat(2 * 1024 * 1024) }] },
    { data: [{ id: 'a', note: 'x'.repeat(9 * 1024 * 1024) }] }
  ]
  const stub = await startStub((_request, response) => sendJson(response, 200, bodies.shift()))
  t.teardown(() => stub.close())
  const { executor } = startPool(t, { UPSTREAM_BASE_URL: stub.origin })
  for (let count = bodies.length; count > 0; count -= 1) {
    t.match(await rejection(executor.listModels(contextOf())), { code: 'provider_protocol_error' }, String(count))
  }
})

t.test('tokens are counted by the upstream, and not asked for without text', async t => {
  const emulator = await createEmulator()
  t.teardown(() => emulator.close())
  const { executor } = startPool(t, emulatorEnv(emulator))
  const counts = await executor.countTokens({ model: 'GigaChat', input: ['First text', 'Second'] }, contextOf())
  t.equal(counts.length, 2)
  t.ok(counts.every(count => count > 0))
  t.match(emulator.requests.at(-1), { path: '/api/v1/tokens/count' })

  const stub = await startStub((_request, response) => sendJson(response, 200, [{ tokens: 'many' }]))
  t.teardown(() => stub.close())
  const broken = startPool(t, { UPSTREAM_BASE_URL: stub.origin }).executor
  t.match(await rejection(broken.countTokens({ model: 'm', input: ['a'] }, contextOf())), {
    code: 'provider_protocol_error'
  })
  t.match(await rejection(broken.countTokens({ model: 'm', input: ['a', 'b'] }, contextOf())), {
    code: 'provider_protocol_error'
  })
})

t.test('a file is downloaded with its type, and its id cannot leave the path', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200, { 'content-type': 'image/jpeg; charset=binary' })
    response.end(Buffer.from([0xff, 0xd8, 0x00]))
  })
  t.teardown(() => stub.close())
  const files = createFileCalls(createTestClient(t, stub.origin), { v1Base: '/api/v1' })
  const file = await files.download('../models?x=', contextOf(), 1024)
  t.same([...file.bytes], [0xff, 0xd8, 0x00])
  t.equal(file.mediaType, 'image/jpeg')
  t.equal(stub.requests[0]?.url, '/api/v1/files/..%2Fmodels%3Fx%3D/content')
})
