import { ApiError, GoogleGenAI } from '@google/genai'
import t from 'tap'
import { upstreamChats } from '../../support/client.ts'
import { startDraining } from '../../support/drain.ts'
import { catchError } from '../../support/errors.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { call, emulatorOptions, failingStream, generate, model, say, stream, versions } from './support.ts'

const emulator = await startEmulator(t, emulatorOptions)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), UPSTREAM_FIRST_BYTE_TIMEOUT: '2', GATEWAY_ACCESS_LOG: 'true' }
})

const client = (version: string) =>
  new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: `${gateway.url}/${version}` } })
const reasonOf = (reason: string) => ({
  '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
  reason,
  domain: 'gateway'
})

t.test('content 61: an upstream failure before the stream is an HTTP status', async t => {
  for (const version of versions) {
    const before = upstreamChats(emulator).length
    const { response } = await stream(gateway, version, '[[error:429 retry=7]]')
    t.equal(response.status, 429)
    t.match(response.headers.get('content-type'), /^application\/json/)
    t.equal(response.headers.get('retry-after'), '7')
    t.equal(upstreamChats(emulator).length, before + 1)
    const contents = '[[error:429 retry=7]]'
    const error = await catchError(() => client(version).models.generateContentStream({ model, contents }))
    t.ok(error instanceof ApiError)
    t.match(error, { status: 429 })
  }
})

t.test(
  'decisions.md 52: a failed stream ends with its error alone and a broken connection, and is no client disconnect in the log',
  async t => {
    for (const version of versions) {
      for (const [directive, status, errorType] of [
        ['[[die:2]]', 502, 'connect_error'],
        ['[[errframe:429 message=slow]]', 429, 'http_429']
      ] as const) {
        for (const query of ['?alt=sse', '?alt=json'] as const) {
          const prompt = `${directive}[[chunks:one|two|three]]`
          const { response, error } = await failingStream(gateway, version, prompt, query)
          t.match(error, { code: status }, directive)
          const id = response.headers.get('x-request-id')
          const findLine = () => readLog(gateway).find(line => line.event === 'http_access' && line.request_id === id)
          await waitUntil(() => findLine() !== undefined, 'the stream has its line')
          t.match(findLine(), { status: 200, lifecycle: 'streaming_aborted', error_type: errorType }, directive)
        }
        const texts: unknown[] = []
        const thrown = await catchError(async () => {
          const contents = `${directive}[[chunks:one|two|three]]`
          for await (const { text } of await client(version).models.generateContentStream({ model, contents })) {
            texts.push(text)
          }
        })
        t.ok(thrown instanceof ApiError, directive)
        t.match(thrown, { status })
        t.equal(texts[0], 'one')
      }
    }
    t.notOk(readLog(gateway).some(line => line.status === 499))
  }
)

t.test('content 66: every upstream status is mapped to a status, code and details that contain no address', async t => {
  const rows = [
    [400, 400, 'INVALID_ARGUMENT', 1],
    [401, 401, 'UNAUTHENTICATED', 2],
    [403, 403, 'PERMISSION_DENIED', 1],
    [404, 404, 'NOT_FOUND', 1],
    [413, 413, 'INVALID_ARGUMENT', 1],
    [418, 418, 'FAILED_PRECONDITION', 1],
    [422, 422, 'INVALID_ARGUMENT', 1],
    [429, 429, 'RESOURCE_EXHAUSTED', 1],
    [500, 500, 'INTERNAL', 1],
    [502, 502, 'UNAVAILABLE', 1],
    [503, 503, 'UNAVAILABLE', 1],
    [504, 504, 'DEADLINE_EXCEEDED', 1],
    [507, 500, 'INTERNAL', 1]
  ] as const
  for (const version of versions) {
    for (const [upstream, status, word, attempts] of rows) {
      const prompt = `[[error:${upstream} retry=7 json message=told at https://up.test/api with Bearer abc.def]]`
      for (const response of [
        await countAttempts(() => generate(gateway, version, prompt), attempts),
        await countAttempts(async () => (await stream(gateway, version, prompt)).response, attempts)
      ]) {
        t.equal(response.status, status, String(upstream))
        t.match(response.headers.get('content-type'), /^application\/json/)
        t.strictSame(Object.keys(response.json), ['error'])
        t.match(response.json.error, { code: status, status: word, message: String })
        t.equal(response.headers.get('retry-after'), upstream === 429 || upstream === 503 ? '7' : null)
        t.notMatch(response.text, /127\.0\.0\.1|up\.test|api\/v[12]|abc\.def/)
        if (upstream !== 429) continue
        t.match(response.json.error.details, [
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }
        ])
      }
    }
  }
})

/** Raises when a response took another number of upstream calls. */
async function countAttempts<Result>(ask: () => Promise<Result>, attempts: number): Promise<Result> {
  // A refused token was discarded: only a held one is renewed within a call.
  if (attempts > 1) await generate(gateway, 'v1', 'hi')
  const before = upstreamChats(emulator).length
  const result = await ask()
  const made = upstreamChats(emulator).length - before
  if (made !== attempts) throw new Error(`${made} upstream calls instead of ${attempts}.`)
  return result
}

t.test('content 67: an upstream timeout is a 504, and the upstream is cancelled (H5)', async t => {
  const before = emulator.stats.aborted
  const asked = versions.flatMap(version => [
    generate(gateway, version, '[[hang]]'),
    stream(gateway, version, '[[hang]]').then(({ response }) => response)
  ])
  for (const response of await Promise.all(asked)) {
    t.equal(response.status, 504)
    t.match(response.json.error, { code: 504, status: 'DEADLINE_EXCEEDED' })
  }
  await emulator.waitFor(() => emulator.stats.aborted === before + asked.length)
})

t.test('bodies that are not a JSON object are refused with a reason', async t => {
  const before = emulator.requests.length
  for (const operation of ['generateContent', 'streamGenerateContent', 'embedContent', 'batchEmbedContents']) {
    for (const body of ['{bad', '', '[1]', 'null']) {
      const response = await call(gateway, 'v1', operation, body)
      t.equal(response.status, 400, `${operation} ${body}`)
      t.match(response.json.error, { status: 'INVALID_ARGUMENT', details: [reasonOf('invalid_json')] })
    }
  }
  t.equal(emulator.requests.length, before)
})

t.test('the response to a wrong method names the allowed method', async t => {
  for (const prefix of ['/v1beta', '/v2/v1beta', '/v1']) {
    const response = await fetch(`${gateway.url}${prefix}/models/${model}:generateContent`, {
      method: 'PUT',
      body: '{}'
    })
    t.equal(response.status, 405, prefix)
    t.match(response.headers.get('allow'), /POST/)
    t.match(await response.json(), { error: { code: 405, status: 'UNIMPLEMENTED' } })
  }
})

t.test(
  'a model path without an operation is served with GET alone, and one with an unknown operation not at all',
  async t => {
    for (const [method, path, status, allow] of [
      ['POST', '/v1beta/models/x', 405, 'GET'],
      ['PUT', '/v1/models/a/b', 405, 'GET'],
      ['PUT', '/v1/models/x:countTokens', 405, 'GET, POST'],
      ['POST', '/v1beta/models/x:nope', 404, null],
      ['POST', '/models/x:', 404, null]
    ] as const) {
      const headers = { 'x-goog-api-key': 'any' }
      const response = await fetch(gateway.url + path, { method, headers, body: '{' })
      t.strictSame([response.status, response.headers.get('allow')], [status, allow], `${method} ${path}`)
      t.match(await response.json(), { error: { code: status } })
    }
  }
)

t.test('content 80: during shutdown requests are refused with 503 and a retry-after time (I1, I2)', async t => {
  const draining = await startDraining(t, gateway)
  const before = emulator.requests.length
  const content = { parts: [{ text: 'a' }] }
  for (const [operation, body] of [
    ['generateContent', say('hi')],
    ['streamGenerateContent', say('hi')],
    ['countTokens', say('hi')],
    ['embedContent', { content }],
    ['batchEmbedContents', { requests: [{ content }] }]
  ] as const) {
    const response = await call(draining, 'v2', operation, body)
    t.equal(response.status, 503, operation)
    t.equal(response.headers.get('retry-after'), '1')
    t.match(response.json, {
      error: { code: 503, status: 'UNAVAILABLE', details: [reasonOf('gateway_shutting_down')] }
    })
  }
  t.equal(emulator.requests.length, before)
})
