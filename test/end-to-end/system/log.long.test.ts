// The runtime log of a started gateway: every request and every failure has its line (operations.md
// 3.6, 3.7 and 12).

import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { get, lastUpstreamChat, post, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, type StartedGateway, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { askIn, families, model, openStream } from './support.ts'

const emulator = await startEmulator(t)

/**
 * A process that finds the file without an end of line, because another one is writing, begins a
 * line of its own, so a blank line may remain.
 */
function readLines(gateway: StartedGateway): string[] {
  const lines = readFileSync(join(gateway.folder, 'gateway.log'), 'utf8').split('\n')
  return lines.filter(line => line !== '')
}

// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
function readLog(gateway: StartedGateway): any[] {
  return readLines(gateway).map(line => JSON.parse(line))
}

const protocols = { completions: 'openai', responses: 'openai', messages: 'anthropic', content: 'gemini' }
const routes = {
  completions: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  content: '/v1beta/models/{model}:generateContent'
}

/** For two cases; the second one stops it. */
const accessed = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_ACCESS_LOG: 'true' } })

t.test(
  'a client disconnect is a 499 in the log, before and within the response, and the upstream call is aborted',
  async t => {
    for (const prompt of ['[[tick:50]][[len:1000]]', '[[hang]]']) {
      await emulator.waitFor(({ stats }) => stats.activeChatRequests === 0)
      const { aborted } = emulator.stats
      const controller = new AbortController()
      const given = openStream(accessed, 'messages', prompt, { signal: controller.signal }).catch(() => undefined)
      if (prompt.startsWith('[[tick')) await given
      else await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
      controller.abort()
      await given
      await emulator.waitFor(({ stats }) => stats.aborted === aborted + 1)
    }
    await waitUntil(
      () => readLog(accessed).filter(line => line.status === 499).length === 2,
      'both requests have a line'
    )
    t.match(
      readLog(accessed)
        .filter(line => line.status === 499)
        .map(line => [line.lifecycle, line.error_type]),
      [
        ['streaming_aborted', 'stream_cancelled'],
        ['request_aborted', 'request_cancelled']
      ]
    )
    const broken = await askIn(accessed, 'completions', '[[die:1]][[chunks:a|b]]', { stream: true })
    t.equal(broken.status, 200)
    await waitUntil(
      () =>
        readLog(accessed).some(
          line => line.request_id === broken.headers.get('x-request-id') && line.event === 'http_access'
        ),
      'the broken stream has its line'
    )
    t.match(
      readLog(accessed).find(
        line => line.request_id === broken.headers.get('x-request-id') && line.event === 'http_access'
      ),
      { status: 200, lifecycle: 'streaming_aborted', error_type: 'connect_error' }
    )
  }
)

t.test('operations 106: every request has one line with the id of its response, in either format', async t => {
  const ids = new Map<string, string>()
  for (const family of families) {
    const response = await askIn(accessed, family, '[[usage:12,34,0]]', {
      headers: { 'x-trace-id': `trace-${family}` }
    })
    ids.set(family, response.headers.get('x-request-id') ?? '')
  }
  const unknown = await get(`${accessed.url}/nope?secret=canary`)
  await get(`${accessed.url}/health`)
  t.equal(await accessed.stop(), 0)
  const log = readLog(accessed)
  for (const family of families) {
    const lines = log.filter(line => line.event === 'http_access' && line.request_id === ids.get(family))
    t.equal(lines.length, 1, family)
    t.match(lines[0], {
      level: 'INFO',
      time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
      worker: 1,
      pid: Number,
      trace_id: `trace-${family}`,
      method: 'POST',
      route: routes[family],
      status: 200,
      lifecycle: 'request_completed',
      protocol: protocols[family],
      provider: 'native',
      model,
      input_tokens: 12,
      output_tokens: 34,
      latency_ms: Number
    })
  }
  t.match(
    log.find(line => line.request_id === unknown.headers.get('x-request-id')),
    { route: 'unmatched', path: '/nope', status: 404, lifecycle: 'request_error', protocol: 'system' }
  )
  t.notOk(log.some(line => line.route === '/health'))
  t.notMatch(readLines(accessed).join('\n'), /canary/)

  const text = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_ACCESS_LOG: 'true', GATEWAY_LOG_FORMAT: 'text' }
  })
  const response = await askIn(text, 'completions', 'hi')
  t.equal(await text.stop(), 0)
  for (const line of readLines(text)) t.match(line, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \| [A-Z ]{8} \| (\S+) \| /)
  const [found] = readLines(text).filter(line => line.includes(response.headers.get('x-request-id') ?? '?'))
  const id = response.headers.get('x-request-id')
  t.match(
    found,
    new RegExp(`\\| INFO {5}\\| ${id} \\| Request finished \\| \\{"event": "http_access", .*"status": 200`)
  )
})

t.test('operations 107: a full log is rotated, and rotated files past their retention are deleted', async t => {
  const gateway = await startGateway(t, { env: { GATEWAY_ACCESS_LOG: 'true', GATEWAY_LOG_MAX_SIZE: '1000' } })
  const listRotated = () => readdirSync(gateway.folder).filter(name => /^gateway\..+\.log$/.test(name))
  const day = 24 * 60 * 60 * 1000
  const [old, kept] = [8, 6].map(days => {
    const name = `gateway.2026-01-0${days}_00-00-00_000000.log`
    writeFileSync(join(gateway.folder, name), '')
    const time = new Date(Date.now() - days * day)
    utimesSync(join(gateway.folder, name), time, time)
    return name
  })
  await waitUntil(async () => {
    await get(`${gateway.url}/nope`)
    // Old files are deleted in the background after a rotation.
    const rotated = listRotated()
    return rotated.length >= 4 && !rotated.includes(old ?? '')
  }, 'it is rotated several times, and the old file is deleted')
  const rotated = listRotated()
  t.ok(rotated.includes(kept ?? ''))
  for (const name of rotated) t.match(name, /^gateway\.\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d{6}\.log$/)
})

t.test(
  'failed calls, unexpected responses and refused slots are logged as warnings with the id of their request',
  async t => {
    const gateway = await startGateway(t, {
      env: {
        ...emulatorVariables(emulator),
        GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 1 }),
        GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
      }
    })
    const died = await askIn(gateway, 'completions', '[[die:0]]', { model: 'GigaChat-2-Pro' })
    const odd = await askIn(gateway, 'completions', '[[finish:never_heard]]', { model: 'GigaChat-2-Pro' })
    const controller = new AbortController()
    await openStream(gateway, 'completions', '[[tick:50]][[len:5000]]', { signal: controller.signal })
    const refused = await askIn(gateway, 'completions', 'hi')
    controller.abort()
    t.equal(await gateway.stop(), 0)
    const log = readLog(gateway)
    for (const [response, event, more] of [
      [died, 'upstream_call_failed', { error_type: 'connect_error', code: 'provider_failure' }],
      [odd, 'upstream_anomaly', { anomaly: 'finish_reason_unknown' }],
      [
        refused,
        'model_concurrency_timeout',
        { provider: 'native', model, limit: 1, msg: `Concurrency limit reached for model ${model}: 1` }
      ]
    ] as const) {
      const line = log.find(one => one.event === event && one.request_id === response.headers.get('x-request-id'))
      t.match(line, { level: 'WARNING', ...more }, event)
    }
  }
)

const debugging = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_LOG_LEVEL: 'DEBUG' } })

t.test('operations 109: a debug log has payloads in DEV and not in PROD', async t => {
  const prod = await startGateway(t, {
    env: {
      ...emulatorVariables(emulator),
      GATEWAY_LOG_LEVEL: 'DEBUG',
      GATEWAY_MODE: 'PROD',
      GATEWAY_API_KEY: 'a-key-of-production'
    }
  })
  for (const [gateway, isShown] of [
    [debugging, true],
    [prod, false]
  ] as const) {
    const before = upstreamChats(emulator).length
    for (const family of families) {
      await askIn(gateway, family, 'a very particular prompt', {
        headers: { authorization: 'Bearer a-key-of-production' }
      })
    }
    t.equal(upstreamChats(emulator).length, before + families.length)
    const isLogged = () => readLines(gateway).join('\n').includes('a very particular prompt')
    if (isShown) await waitUntil(isLogged, 'the payloads are written')
    else {
      t.equal(await gateway.stop(), 0)
      t.notOk(isLogged())
      t.match(readLines(gateway).join('\n'), /\(payload omitted in PROD\)/)
    }
  }
})

t.test('operations 108: a debug log in DEV has what was sent and received, on both sides, masked', async t => {
  const secrets = '{"api_key": "hunter2"} password=hunter2&x=1 Bearer hunter2 authorization=Bearer hunter2'
  const whole = new Map<string, string>()
  for (const family of families) {
    const more = { more: { metadata: { password: 'hunter2' } } }
    const response = await askIn(debugging, family, secrets, family === 'content' ? {} : more)
    whole.set(family, response.headers.get('x-request-id') ?? '')
    await askIn(debugging, family, 'hi', { stream: true })
  }
  const embeddings = await post(`${debugging.url}/v1/embeddings`, { model: 'Embeddings', input: 'particular' })
  t.equal(await debugging.stop(), 0)
  const log = readLog(debugging)
  const eventsOf = (id: string | undefined) => log.filter(line => line.request_id === id).map(line => line.event)
  const ends = {
    completions: 'chat_completion_response',
    responses: 'responses_api_response',
    messages: 'anthropic_message_response',
    content: 'gemini_response'
  }
  for (const family of families) {
    const isMemberLeftOut = family !== 'content'
    t.same(
      eventsOf(whole.get(family)).filter(event => event !== 'upstream_token_fetched'),
      [
        'client_request_payload',
        ...(isMemberLeftOut ? ['field_left_out'] : []),
        'upstream_chat_completion_request',
        'upstream_request',
        ends[family]
      ],
      family
    )
  }
  const embeddingsEvents = eventsOf(embeddings.headers.get('x-request-id') ?? '')
  for (const event of [
    'client_request_payload',
    'upstream_embeddings_request',
    'upstream_request',
    'embeddings_response'
  ])
    t.ok(embeddingsEvents.includes(event), event)
  for (const event of ['stream_chunk', 'responses_stream_chunk'])
    t.ok(
      log.some(line => line.event === event),
      event
    )
  const sent = log.find(line => line.event === 'client_request_payload' && line.request_id === whole.get('completions'))
  t.match(sent, {
    level: 'DEBUG',
    route: '/v1/chat/completions',
    payload: {
      metadata: { password: '***' },
      messages: [{ content: '{"api_key": "***"} password=***&x=1 Bearer *** authorization=*** ***' }]
    }
  })
  t.notMatch(JSON.stringify(log), /hunter2/)
})

t.test('a line of .env that is no assignment is a warning that names the line and not its text', async t => {
  const gateway = await startGateway(t, {
    env: emulatorVariables(emulator),
    dotenv: '# settings\nUPSTREAM_MODEL=GigaChat-2-Pro\nhunter2 is no assignment\n\nUPSTREAM_USER: hunter2\n'
  })
  const warnings = readLog(gateway).filter(({ event }) => event === 'configuration_warning')
  t.match(
    warnings.filter(({ msg }) => /\.env/.test(String(msg))),
    [
      { level: 'WARNING', msg: 'Line 3 of the .env file is not an assignment; it is ignored.' },
      { level: 'WARNING', msg: 'Line 5 of the .env file is not an assignment; it is ignored.' }
    ]
  )
  const { status } = await post(`${gateway.url}/v1/chat/completions`, { messages: [{ role: 'user', content: 'hi' }] })
  t.equal(status, 200)
  t.equal(lastUpstreamChat(emulator).body.model, 'GigaChat-2-Pro', 'the other lines count')
  t.equal(await gateway.stop(), 0)
  t.notMatch(JSON.stringify(readLog(gateway)), /hunter2/)
})
