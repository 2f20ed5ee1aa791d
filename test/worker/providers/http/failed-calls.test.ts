import t from 'tap'
import { createEmulator } from '../../../../ops/emulator/server.ts'
import type { PendingAttachment } from '../../../../worker/protocols/provider-face.ts'
import type { CallContext } from '../../../../worker/providers/types.ts'
import { chatCall, contextOf, createSink, emulatorEnv, startPool, type TestExecutor } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'
import { sendJson, startStub } from '../support/stub-upstream.ts'

const emulator = await createEmulator()
t.teardown(() => emulator.close())

let attachments = 0

/** A picture that was never uploaded before, so that no cache can take the upload's place. */
function createAttachment(): PendingAttachment {
  const base64 = Buffer.from(`picture ${attachments++}`).toString('base64')
  const source = { kind: 'bytes', mediaType: 'image/png', base64 } as const
  return { placeholder: 'gateway-attachment/r1/0', source, path: 'attachments' }
}

type Call = (executor: TestExecutor, context: CallContext) => Promise<unknown>

const stream =
  (prompt: string): Call =>
  (executor, context) =>
    executor.stream(chatCall(prompt, { isStream: true }), context, createSink())

const whole =
  (prompt: string): Call =>
  (executor, context) =>
    executor.complete(chatCall(prompt), context)

/** The next call of `path` gets these bytes with status 200. */
const answered =
  (path: string, contentType: string, text: string, call: Call): Call =>
  (executor, context) => {
    emulator.respondNext({ path, status: 200, headers: { 'content-type': contentType }, chunks: [text] })
    return call(executor, context)
  }

const firstFrame = (frame: object) =>
  answered('/chat/completions', 'text/event-stream', `data: ${JSON.stringify(frame)}\n\n`, stream('hi'))

const failures: Array<[name: string, errorType: string, call: Call]> = [
  ['a status', 'http_429', whole('[[error:429]]')],
  ['a status of a stream', 'http_503', stream('[[error:503]]')],
  ['a broken connection', 'connect_error', whole('[[die:0]]')],
  ['a body that is no JSON', 'protocol_error', whole('[[badjson]]')],
  [
    'an error in the body of a success',
    'http_503',
    answered('/chat/completions', 'application/json', '{"status":503,"message":"m"}', whole('hi'))
  ],
  ['a generation that failed', 'http_500', whole('[[finish:error]]')],
  ['an error as the first frame', 'http_503', firstFrame({ status: 503, message: 'm' })],
  ['an error that states a status of its own', 'http_520', firstFrame({ status: 520, message: 'm' })],
  ['an error that states no status', 'protocol_error', firstFrame({ error: { message: 'm' } })],
  ['a refused token as the first frame', 'http_401', firstFrame({ status: 401, message: 'm' })],
  ['an error frame within a stream', 'http_503', stream('[[chunks:a|b]][[errframe:503 message=m]]')],
  ['a broken frame within a stream', 'protocol_error', stream('[[chunks:a|b]][[badframe]]')],
  ['a stream without an end', 'protocol_error', stream('[[chunks:a|b]][[noeof]]')],
  ['a connection that breaks within a stream', 'connect_error', stream('[[chunks:a|b]][[die:1]]')],
  [
    'an upload without an id',
    'protocol_error',
    answered('/files', 'application/json', '{}', (executor, context) =>
      executor.complete(chatCall('see', { attachments: [createAttachment()] }), context)
    )
  ],
  [
    'unusable vectors',
    'protocol_error',
    answered('/embeddings', 'application/json', '{}', (executor, context) =>
      executor.embed({ model: 'Embeddings', input: ['a'] }, context)
    )
  ],
  [
    'unusable token counts',
    'protocol_error',
    answered('/tokens/count', 'application/json', '{}', (executor, context) =>
      executor.countTokens({ model: 'GigaChat-2', input: ['a'] }, context)
    )
  ],
  [
    'an unusable model list',
    'protocol_error',
    answered('/models', 'application/json', '{}', (executor, context) => executor.listModels(context))
  ]
]

t.test('every failure of a call leaves one line and one report, wherever it stands (decisions.md 59)', async t => {
  for (const retries of ['0', '1']) {
    const { executor, memory } = startPool(
      t,
      emulatorEnv(emulator, { UPSTREAM_MAX_RETRIES: retries, UPSTREAM_RETRY_BACKOFF_FACTOR: '0' })
    )
    for (const [name, errorType, call] of failures) {
      const reported: string[] = []
      memory.lines.length = 0
      await call(executor, contextOf({ onUpstreamFailure: word => reported.push(word) })).catch(() => undefined)
      // A connection that is tried again is broken again: the emulator reads the prompt anew.
      t.same(reported, [errorType], `${name}, ${retries} retries`)
      t.match(
        memory.lines.filter(line => line.event === 'upstream_call_failed'),
        [{ error_type: errorType, request_id: 'r1' }],
        `${name}, ${retries} retries`
      )
      t.equal(memory.lines.filter(line => line.event === 'upstream_call_failed').length, 1, name)
    }
  }
})

t.test('an error frame with status 401 is final: no token is renewed and no call repeated for it', async t => {
  const { executor } = startPool(t, emulatorEnv(emulator))
  await whole('hi')(executor, contextOf())
  const before = emulator.requests.length
  await firstFrame({ status: 401, message: 'm' })(executor, contextOf()).catch(() => undefined)
  t.equal(emulator.requests.length, before + 1)
})

t.test('a refused token is renewed, and a limit reported, also when the body of the error breaks off', async t => {
  const statuses: number[] = []
  const stub = await startStub((request, response) => {
    if (request.url === '/token') {
      sendJson(response, 200, { tok: 'a token', exp: Date.now() + 3_600_000 })
      return
    }
    const status = statuses.shift() ?? 200
    if (status === 200) {
      sendJson(response, 200, { data: [] })
      return
    }
    response.writeHead(status, { 'retry-after': '7', 'content-length': '50' })
    response.write('{"mess', () => response.destroy())
  })
  t.teardown(() => stub.close())
  const env = { UPSTREAM_BASE_URL: stub.origin, UPSTREAM_USER: 'u', UPSTREAM_PASSWORD: 'p' }
  const { executor } = startPool(t, env)
  // A token that was never accepted is not renewed.
  await executor.listModels(contextOf())
  for (const call of [whole('hi'), stream('hi')]) {
    statuses.push(401, 429)
    t.match(await rejection(call(executor, contextOf())), { code: 'rate_limited', status: 429, retryAfter: '7' })
    t.same(statuses, [])
  }
})

t.test('a token response that cannot be read is a failed call', async t => {
  const stub = await startStub((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('no JSON')
  })
  t.teardown(() => stub.close())
  const { executor, memory } = startPool(t, emulatorEnv(emulator, { UPSTREAM_AUTH_URL: `${stub.origin}/token` }))
  await t.rejects(whole('hi')(executor, contextOf()), { code: 'provider_protocol_error' })
  const lines = memory.lines.filter(line => line.event === 'upstream_call_failed')
  t.match(lines, [{ error_type: 'protocol_error', request_id: 'r1' }])
  t.equal(lines.length, 1)
})

t.test('a success, and a call that its client ended, are no failed calls', async t => {
  const { executor, memory } = startPool(t, emulatorEnv(emulator))
  const reported: string[] = []
  const onUpstreamFailure = (word: string) => reported.push(word)
  await whole('hi')(executor, contextOf({ onUpstreamFailure }))
  const abort = new AbortController()
  const hanging = stream('[[hang]]')(executor, contextOf({ signal: abort.signal, onUpstreamFailure }))
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  abort.abort(new Error('ended'))
  await t.rejects(hanging)
  t.same(reported, [])
  t.notOk(memory.lines.some(line => line.event === 'upstream_call_failed'))
})

t.test('each exchange is announced and then reported, retries included', async t => {
  const { executor } = startPool(
    t,
    emulatorEnv(emulator, { UPSTREAM_MAX_RETRIES: '1', UPSTREAM_RETRY_BACKOFF_FACTOR: '0' })
  )
  const seen: string[] = []
  const context = contextOf({
    onUpstreamCallStarted: () => seen.push('started'),
    onUpstreamCall: ({ status, attempt }) => seen.push(`${status} ${attempt}`)
  })
  await whole('[[error:503]]')(executor, context).catch(() => undefined)
  t.same(seen, ['started', '503 0', 'started', '503 1'])
})
