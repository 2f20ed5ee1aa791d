// What the official SDKs of the families make of a limit that a key has reached: typed errors, own attempts, and the counters in headers.

import { on, once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { catchError } from '../../support/errors.ts'
import { type ServingGateway, startEmulator } from '../../support/in-process-gateway.ts'
import { chatBaseUrl, startProfileGateway, writeChatProfile } from '../../support/profile-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const MODEL = 'limited-chat'
const HELLO = '[[text:Hello]][[usage:10,5]]'
const LONG = '[[tick:50]][[len:5000]]'

interface Ask {
  prompt?: string
  isStream?: boolean
  /** The attempts of the SDK after the first one. */
  retries?: number
}

/** What came back for one attempt of an SDK. */
interface Attempt {
  status: number
  headers: Headers
  /** When the request was sent. */
  sentAtMs: number
}

/** One SDK with a key: it asks, and notes each attempt. */
interface Client {
  attempts: Attempt[]
  /** Resolves with the text of the whole response, or of the whole stream. */
  ask(options?: Ask): Promise<string>
  /** Called with each response before the SDK sees it. */
  onAttempt?: ((attempt: Attempt) => void) | undefined
}

type CreateClient = (url: string, apiKey: string) => Client

/** A client whose SDK sends with the given function. */
function createClient(build: (fetchNoted: typeof fetch) => (options: Required<Ask>) => Promise<string>): Client {
  const client: Client = {
    attempts: [],
    ask: options => ask({ prompt: HELLO, isStream: false, retries: 0, ...options })
  }
  const ask = build(async (input, init) => {
    const sentAtMs = performance.now()
    const response = await fetch(input, init)
    const { status, headers } = response
    const attempt = { status, headers, sentAtMs }
    client.attempts.push(attempt)
    client.onAttempt?.(attempt)
    return response
  })
  return client
}

const createOpenAi =
  (operation: 'chat' | 'responses'): CreateClient =>
  (url, apiKey) =>
    createClient(fetchNoted => {
      const sdk = new OpenAI({ baseURL: `${url}/v1`, apiKey, fetch: fetchNoted })
      return async ({ prompt, isStream, retries }) => {
        const options = { maxRetries: retries }
        let text = ''
        if (operation === 'chat') {
          const body = { model: MODEL, messages: [{ role: 'user' as const, content: prompt }] }
          if (!isStream) return (await sdk.chat.completions.create(body, options)).choices[0]?.message.content ?? ''
          for await (const chunk of await sdk.chat.completions.create({ ...body, stream: true }, options)) {
            text += chunk.choices[0]?.delta.content ?? ''
          }
          return text
        }
        const body = { model: MODEL, input: prompt }
        if (!isStream) return (await sdk.responses.create(body, options)).output_text
        for await (const event of await sdk.responses.create({ ...body, stream: true }, options)) {
          if (event.type === 'response.output_text.delta') text += event.delta
        }
        return text
      }
    })

const createAnthropic: CreateClient = (url, apiKey) =>
  createClient(fetchNoted => {
    const sdk = new Anthropic({ baseURL: url, apiKey, fetch: fetchNoted })
    return async ({ prompt, isStream, retries }) => {
      const body = { model: MODEL, max_tokens: 256, messages: [{ role: 'user' as const, content: prompt }] }
      const message = isStream
        ? await sdk.messages.stream(body, { maxRetries: retries }).finalMessage()
        : await sdk.messages.create(body, { maxRetries: retries })
      return message.content.map(block => (block.type === 'text' ? block.text : '')).join('')
    }
  })

const createGenai: CreateClient = (url, apiKey) =>
  createClient(fetchNoted => {
    return async ({ prompt, isStream, retries }) => {
      const retryOptions = retries === 0 ? {} : { retryOptions: { attempts: retries + 1, initialDelay: 1, jitter: 0 } }
      const sdk = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${url}/v1`, fetch: fetchNoted, ...retryOptions } })
      const request = { model: MODEL, contents: prompt }
      if (!isStream) return (await sdk.models.generateContent(request)).text ?? ''
      let text = ''
      for await (const chunk of await sdk.models.generateContentStream(request)) text += chunk.text ?? ''
      return text
    }
  })

interface Family {
  name: string
  create: CreateClient
  isRateLimitError(error: unknown): boolean
  /** What the SDK shows of a reached limit. */
  reached: object
  /** What it shows of a spent budget. */
  spent: object
  /** How the names of the headers with the counters begin. */
  counters?: { requests: string; tokens: string; reset: RegExp }
}

const ofOpenAi = {
  isRateLimitError: (error: unknown) => error instanceof OpenAI.RateLimitError,
  reached: { status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error', param: null },
  spent: { status: 429, code: 'budget_exceeded', type: 'insufficient_quota', param: null },
  counters: { requests: 'x-ratelimit-*-requests', tokens: 'x-ratelimit-*-tokens', reset: /^(\d+ms|[\d.]+s|1m[\d.]+s)$/ }
}
const detailsOf = (code: string, limit: object) => ({
  status: 429,
  error: { type: 'error', error: { type: 'rate_limit_error', details: { error_code: code } }, ...limit }
})

const families: Family[] = [
  { name: 'openai', create: createOpenAi('chat'), ...ofOpenAi },
  { name: 'openai responses', create: createOpenAi('responses'), ...ofOpenAi },
  {
    name: '@anthropic-ai/sdk',
    create: createAnthropic,
    isRateLimitError: error => error instanceof Anthropic.RateLimitError,
    reached: detailsOf('rate_limit_exceeded', { request_id: String }),
    spent: detailsOf('budget_exceeded', { request_id: String }),
    counters: {
      requests: 'anthropic-ratelimit-requests-*',
      tokens: 'anthropic-ratelimit-tokens-*',
      reset: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
    }
  },
  {
    name: '@google/genai',
    create: createGenai,
    isRateLimitError: error => error instanceof ApiError,
    reached: { status: 429, message: /RESOURCE_EXHAUSTED.*"reason":"rate_limit_exceeded".*QuotaFailure.*RetryInfo/s },
    spent: { status: 429, message: /RESOURCE_EXHAUSTED.*"reason":"budget_exceeded".*QuotaFailure/s }
  }
]

const LIMITS = {
  requests: { requests_per_minute: 1 },
  tokens: { tokens_per_minute: 200 },
  concurrency: { concurrent_requests: 1 },
  budget: { budget: { amount: 0.000_001, period: 'month' } },
  repeated: { concurrent_requests: 1 },
  socket: { requests_per_minute: 1 },
  shown: { requests_per_minute: 100, tokens_per_minute: 1_000_000 }
}
type KeyUse = keyof typeof LIMITS

/** Each family has a key of its own for each use. */
const keys = Object.keys(LIMITS).flatMap(use =>
  families.map((_family, index) => ({
    name: `${use}-${index}`,
    variable: `KEY_${use}_${index}`.toUpperCase(),
    secret: `secret-of-${use}-${index}`,
    limits: LIMITS[use as KeyUse]
  }))
)

function findSecret(use: KeyUse, family: Family): string {
  return `secret-of-${use}-${families.indexOf(family)}`
}

const UNLIMITED = 'key-without-limits'

async function startLimited(t: Test): Promise<ServingGateway> {
  const emulator = await startEmulator(t)
  const folder = createTemporaryFolder(t)
  const keysFile = join(folder, 'keys.json')
  const document = {
    schema_version: 'gateway.keys.v1',
    keys: keys.map(({ name, variable, limits }) => ({ name, secrets: [{ env: variable }], limits }))
  }
  writeFileSync(keysFile, JSON.stringify(document))
  return startProfileGateway(t, {
    env: {
      ...Object.fromEntries(keys.map(({ variable, secret }) => [variable, secret])),
      GATEWAY_KEYS_FILE: keysFile,
      GATEWAY_API_KEY: UNLIMITED,
      GATEWAY_RESPONSES_WEBSOCKET: 'true',
      // The durable place of budgets.
      GATEWAY_RESPONSES_STORE_DSN: `sqlite:${join(folder, 'store.sqlite')}`
    },
    profiles: [
      writeChatProfile({
        id: 'limited',
        baseUrl: chatBaseUrl(emulator, 'limited'),
        aliases: [{ alias: MODEL, more: { pricing: { input: 1, output: 2 } } }]
      })
    ]
  })
}

/** Opens a stream that holds the one slot of a key until the returned function is called. */
async function holdSlot(url: string, secret: string): Promise<() => void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, stream: true, messages: [{ role: 'user', content: LONG }] })
  })
  t.equal(response.status, 200)
  return () => void response.body?.cancel()
}

/** Uses all that a key may use, and returns what gives it free again. */
async function exhaust(use: KeyUse, client: Client, url: string, secret: string): Promise<() => void> {
  if (use === 'concurrency') return holdSlot(url, secret)
  t.equal(await client.ask(), 'Hello')
  // A budget is charged when the response is over, which may be a moment after its last byte.
  for (let asked = 0; use === 'budget' && asked < 50; asked++) {
    if ((await catchError(() => client.ask())) !== undefined) break
  }
  client.attempts.length = 0
  return () => undefined
}

function listCounters({ headers }: Attempt): string[] {
  return [...headers.keys()].filter(name => name.includes('ratelimit'))
}

function readCounters({ counters }: Family, { headers }: Attempt): Record<string, string | null> {
  const { requests = '', tokens = '' } = counters ?? {}
  const parts = ['limit', 'remaining', 'reset']
  const names = [requests, tokens].flatMap(name => parts.map(part => name.replace('*', part)))
  return Object.fromEntries(names.map(name => [name, headers.get(name)]))
}

t.test('limits of keys', async t => {
  const { url } = await startLimited(t)

  for (const use of ['requests', 'tokens', 'concurrency', 'budget'] as const) {
    for (const family of families) {
      t.test(`keys 6: ${family.name} throws its own error when the limit of ${use} is reached`, async t => {
        const client = family.create(url, findSecret(use, family))
        const free = await exhaust(use, client, url, findSecret(use, family))
        for (const isStream of [false, true]) {
          // Even with attempts of its own, no SDK repeats a request over its budget.
          const retries = use === 'budget' && family.counters !== undefined ? 2 : 0
          const error = await catchError(() => client.ask({ isStream, retries }))
          t.ok(family.isRateLimitError(error), `${error}`)
          t.match(error, use === 'budget' ? family.spent : family.reached)
          t.match((error as Error).message, `${use}-${families.indexOf(family)}`, 'the message names the key')
        }
        free()
        t.strictSame(
          client.attempts.map(({ status }) => status),
          [429, 429]
        )
        for (const attempt of client.attempts) {
          const { headers } = attempt
          t.equal(headers.get('x-should-retry'), use === 'budget' ? 'false' : null)
          const seconds = Number(headers.get('retry-after'))
          if (use === 'concurrency') t.equal(seconds, 1)
          else if (use === 'budget') t.ok(seconds > 0 && seconds <= 31 * 86_400, `${seconds} s`)
          else t.ok(seconds > 0 && seconds < 60, `${seconds} s`)
          const counted = family.counters !== undefined && (use === 'requests' || use === 'tokens')
          t.equal(listCounters(attempt).length, counted ? 3 : 0)
          if (use === 'requests' && counted) t.match(Object.values(readCounters(family, attempt)), ['1', '0'])
        }
      })
    }
  }

  t.test('keys 7: each SDK tries again by itself, and succeeds when the limit allows it', async t => {
    await Promise.all(
      families.map(async family => {
        const secret = findSecret('repeated', family)
        const client = family.create(url, secret)
        const free = await holdSlot(url, secret)
        client.onAttempt = ({ status }) => {
          if (status === 429) free()
        }
        t.equal(await client.ask({ retries: 2 }), 'Hello', family.name)
        t.strictSame(
          client.attempts.map(({ status }) => status),
          [429, 200],
          family.name
        )
        // Without `retry-after` the first two SDKs would try again after half a second at most.
        const [refused, repeated] = client.attempts
        const waitedMs = (repeated?.sentAtMs ?? 0) - (refused?.sentAtMs ?? 0)
        t.ok(waitedMs >= 990, `${family.name} has waited for ${waitedMs} ms`)
      })
    )
  })

  for (const family of families) {
    t.test(`keys 6: each response shows ${family.name} what its key may still use`, async t => {
      const client = family.create(url, findSecret('shown', family))
      await client.ask()
      await client.ask({ isStream: true })
      await catchError(() => client.ask({ prompt: '[[error:400]]' }))
      const { counters } = family
      for (const [index, attempt] of client.attempts.entries()) {
        if (counters === undefined) {
          t.strictSame(listCounters(attempt), [])
          continue
        }
        const values = Object.values(readCounters(family, attempt))
        t.match(values, ['100', String(99 - index), counters.reset, '1000000', /^\d+$/, counters.reset])
        t.ok(Number(values[4]) < 1_000_000)
      }
      t.equal(client.attempts.length, 3)
      const unlimited = family.create(url, UNLIMITED)
      t.equal(await unlimited.ask(), 'Hello')
      t.strictSame(unlimited.attempts.flatMap(listCounters), [])
    })
  }

  t.test('keys 6: on a WebSocket a reached limit is an event, and the connection stays', async t => {
    const [, responses] = families
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
      headers: { authorization: `Bearer ${findSecret('socket', responses as Family)}` }
    })
    t.teardown(() => socket.terminate())
    await once(socket, 'open')
    const messages = on(socket, 'message')
    const ask = async (): Promise<{ type: string }> => {
      socket.send(JSON.stringify({ type: 'response.create', model: MODEL, input: HELLO }))
      for (;;) {
        const { value: [data] = [] } = await messages.next()
        const event = JSON.parse(String(data))
        if (/^(response\.completed|error)$/.test(event.type)) return event
      }
    }
    t.match(await ask(), { type: 'response.completed' })
    for (const refused of [await ask(), await ask()]) {
      t.match(refused, {
        type: 'error',
        status: 429,
        error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', param: null, message: /socket-1/ },
        headers: {
          'retry-after': /^\d+$/,
          'x-ratelimit-limit-requests': '1',
          'x-ratelimit-remaining-requests': '0',
          'x-ratelimit-reset-requests': ofOpenAi.counters.reset
        }
      })
    }
    t.equal(socket.readyState, socket.OPEN)
  })
})
