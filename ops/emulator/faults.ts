// Faults that a test configures over the control endpoint: endpoints that fail, and responses that are scripted in full.
import { isChatPath } from './chat-path.ts'
import { isObject } from './json.ts'

export interface FailRule {
  /** The end of the path, such as `/models` or `/files/*`; `*` matches one segment. */
  path: string
  method: string | null
  /** 0 destroys the connection. */
  status: number
  times: number
  message: string | null
  retryAfter: string | null
  isHtml: boolean
  /** Sends no response and leaves the connection open. */
  isHanging: boolean
}

export interface ScriptedChunk {
  /** Delay before this chunk. */
  delayMs: number
  bytes: Buffer
}

export interface ScriptedResponse {
  /** The end of the path of the call that gets this response; `null`: the next chat call. */
  path: string | null
  status: number
  headers: Record<string, string>
  chunks: ScriptedChunk[]
  /** After the last chunk: end the response, destroy the connection, or leave it open. */
  ending: 'end' | 'destroy' | 'hang'
  isChunked: boolean
}

const QUEUE_MAX = 1000

export interface Faults {
  fail: (rule: FailRule) => void
  script: (response: ScriptedResponse) => void
  /** Finds the rule for this call and counts one use of it; a rule that was used `times` times is removed. */
  takeFailure: (method: string, path: string) => FailRule | undefined
  /** Removes and returns the next scripted response for this path. */
  takeScriptedResponse: (path: string) => ScriptedResponse | undefined
  /** Counts one attempt of a flaky prompt; true while the attempt has to fail. */
  isStillFlaky: (key: string, times: number) => boolean
  reset: () => void
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern === path) return true
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]+')
  return new RegExp(`${escaped}$`).test(path)
}

/** Creates the configured faults of one emulator; each queue holds at most 1000 entries. */
export function createFaults(): Faults {
  const rules: FailRule[] = []
  const responses: ScriptedResponse[] = []
  const failedAttempts = new Map<string, number>()
  return {
    fail(rule) {
      if (rules.length >= QUEUE_MAX) throw new Error('too many fail rules are waiting')
      rules.push(rule)
    },
    script(response) {
      if (responses.length >= QUEUE_MAX) throw new Error('too many answers are waiting')
      responses.push(response)
    },
    takeFailure(method, path) {
      if (rules.length === 0) return undefined
      const index = rules.findIndex(rule => (rule.method ?? method) === method && matchesPath(rule.path, path))
      const rule = rules[index]
      if (rule !== undefined && --rule.times <= 0) rules.splice(index, 1)
      return rule
    },
    takeScriptedResponse(path) {
      if (responses.length === 0) return undefined
      const index = responses.findIndex(response =>
        response.path === null ? isChatPath(path) : matchesPath(response.path, path)
      )
      return index === -1 ? undefined : responses.splice(index, 1)[0]
    },
    isStillFlaky(key, times) {
      const failed = failedAttempts.get(key) ?? 0
      if (failed >= times) {
        // After this success the same prompt fails again from the start.
        failedAttempts.delete(key)
        return false
      }
      failedAttempts.set(key, failed + 1)
      const oldest = failedAttempts.size > QUEUE_MAX ? failedAttempts.keys().next().value : undefined
      if (oldest !== undefined) failedAttempts.delete(oldest)
      return true
    },
    reset() {
      rules.length = 0
      responses.length = 0
      failedAttempts.clear()
    }
  }
}

/**
 * Reads the body of `POST /__control/fail`.
 * @throws Error that names the invalid member.
 */
export function readFailRule(value: unknown): FailRule {
  if (!isObject(value) || typeof value.path !== 'string' || value.path === '') throw new Error('path is required')
  const isHanging = value.hang === true
  const status = value.status ?? (isHanging ? 0 : undefined)
  if (typeof status !== 'number' || !(status === 0 || (status >= 200 && status <= 599))) {
    throw new Error('status must be 0 or an HTTP status')
  }
  const times = value.times ?? 1
  if (typeof times !== 'number' || !Number.isInteger(times) || times < 1)
    throw new Error('times must be a positive integer')
  return {
    path: value.path,
    method: typeof value.method === 'string' ? value.method.toUpperCase() : null,
    status,
    times,
    message: typeof value.message === 'string' ? value.message : null,
    retryAfter: value.retryAfter === undefined ? null : String(value.retryAfter),
    isHtml: value.html === true,
    isHanging
  }
}

/**
 * Reads the body of `POST /__control/answer`: `{path?, status?, headers?, body? | chunks?, end?, delayMs?}`. A body that is
 * not a string is sent as JSON; a chunk is a string or `{text | base64, delayMs?}`.
 * @throws Error that names the invalid member.
 */
export function readScriptedResponse(value: unknown): ScriptedResponse {
  if (!isObject(value)) throw new Error('the answer must be an object')
  const status = value.status ?? 200
  if (typeof status !== 'number' || status < 200 || status > 599) throw new Error('status must be an HTTP status')
  const ending = value.end ?? 'end'
  if (ending !== 'end' && ending !== 'destroy' && ending !== 'hang') throw new Error('end must be end, destroy or hang')
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
  if (Array.isArray(value.chunks)) headers['content-type'] = 'text/event-stream'
  if (isObject(value.headers)) {
    for (const [name, header] of Object.entries(value.headers)) headers[name.toLowerCase()] = String(header)
  }
  const delayMs = typeof value.delayMs === 'number' ? value.delayMs : 0
  return {
    path: typeof value.path === 'string' ? value.path : null,
    status,
    headers,
    chunks: readChunks(value, delayMs),
    ending,
    isChunked: Array.isArray(value.chunks)
  }
}

function readChunks(value: Record<string, unknown>, delayMs: number): ScriptedChunk[] {
  if (!Array.isArray(value.chunks)) {
    const body =
      value.body === undefined ? '' : typeof value.body === 'string' ? value.body : JSON.stringify(value.body)
    return [{ delayMs, bytes: Buffer.from(body) }]
  }
  return value.chunks.map((chunk, index) => {
    const first = index === 0 ? delayMs : 0
    if (typeof chunk === 'string') return { delayMs: first, bytes: Buffer.from(chunk) }
    if (!isObject(chunk)) throw new Error(`chunks[${index}] must be a string or an object`)
    const bytes =
      typeof chunk.base64 === 'string' ? Buffer.from(chunk.base64, 'base64') : Buffer.from(String(chunk.text ?? ''))
    return { delayMs: typeof chunk.delayMs === 'number' ? chunk.delayMs : first, bytes }
  })
}
