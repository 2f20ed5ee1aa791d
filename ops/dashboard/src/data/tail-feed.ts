// Keeps the live tail open: reads its events into a buffer and connects again after a loss, behind the last record that arrived. A hidden page
// has no stream: a browser opens six connections to a host, and the streams of hidden tabs would leave none to the other tabs.
import { type Api, ApiError } from './api.ts'
import { createServerEventDecoder } from './server-events.ts'

export type TailState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** A new attempt follows. */
  | { readonly kind: 'waiting'; readonly message: string }
  /** No further attempt: the key was refused. */
  | { readonly kind: 'refused'; readonly error: ApiError }

/** Whether the page is shown or hidden. The `document` of the browser is one. */
export interface Visibility {
  readonly hidden: boolean
  addEventListener(name: 'visibilitychange', listener: () => void): void
  removeEventListener(name: 'visibilitychange', listener: () => void): void
}

export interface TailFeedOptions {
  readonly api: Pick<Api, 'openTail'>
  readonly signal: AbortSignal
  readonly page: Visibility
  /** The text of each record, in the order of arrival. */
  readonly onRecord: (text: string) => void
  /** So many records were left out, because they arrived faster than they were read. */
  readonly onSkipped: (count: number) => void
  readonly onState: (state: TailState) => void
  /** Resolves after a while; for tests. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 15_000
/** The gateway sends a comment every 15 seconds, so a silent connection is a lost one. */
const SILENCE_MS_MAX = 45_000
/** Longest run of reading without a pause for input and drawing. */
const READING_MS_MAX = 10

/** Runs until the signal aborts or the key is refused. Never rejects. */
export async function followTail(options: TailFeedOptions): Promise<void> {
  const { signal, page, onState, wait = sleep } = options
  let lastId: string | undefined
  let retryMs = RETRY_MS_MIN
  while (!signal.aborted) {
    if (page.hidden) {
      await whenVisibilityChanges(page, signal)
      continue
    }
    onState({ kind: 'connecting' })
    let message = 'The gateway ended the stream.'
    try {
      await readOnce(options, {
        lastId,
        onId: id => {
          lastId = id
        },
        onOpen: () => {
          retryMs = RETRY_MS_MIN
        }
      })
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && error.kind === 'key') {
        onState({ kind: 'refused', error })
        return
      }
      message = error instanceof ApiError ? error.message : 'The connection was lost.'
    }
    if (signal.aborted) return
    if (page.hidden) continue
    onState({ kind: 'waiting', message })
    await wait(retryMs * (0.75 + Math.random() / 2), signal)
    retryMs = Math.min(retryMs * 2, RETRY_MS_MAX)
  }
}

interface Connection {
  lastId: string | undefined
  onId: (id: string) => void
  onOpen: () => void
}

async function readOnce(options: TailFeedOptions, connection: Connection): Promise<void> {
  const closing = new AbortController()
  const signal = AbortSignal.any([options.signal, closing.signal])
  void whenVisibilityChanges(options.page, signal).then(() => closing.abort())
  let timer = setTimeout(() => closing.abort(), SILENCE_MS_MAX)
  try {
    const body = await options.api.openTail(signal, connection.lastId)
    connection.onOpen()
    options.onState({ kind: 'live' })
    const reader = body.getReader()
    const decoder = new TextDecoder()
    const events = createServerEventDecoder()
    let readingSince = performance.now()
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => closing.abort(), SILENCE_MS_MAX)
      for (const { name, id, data } of events.push(decoder.decode(value, { stream: true }))) {
        if (id !== undefined && id !== '') connection.onId(id)
        if (name === 'log') options.onRecord(data)
        else if (name === 'skipped') options.onSkipped(readSkipped(data))
      }
      // Pieces that have arrived already are read without a turn of the event loop; drawing needs one.
      if (performance.now() - readingSince > READING_MS_MAX) {
        await new Promise(resolve => setTimeout(resolve, 0))
        readingSince = performance.now()
      }
    }
  } finally {
    clearTimeout(timer)
    closing.abort()
  }
}

/** Resolves also when the signal aborts. */
function whenVisibilityChanges(page: Visibility, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    function finish(): void {
      page.removeEventListener('visibilitychange', finish)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    page.addEventListener('visibilitychange', finish)
    signal.addEventListener('abort', finish)
  })
}

function readSkipped(data: string): number {
  try {
    const count: unknown = (JSON.parse(data) as { skipped?: unknown } | null)?.skipped
    return typeof count === 'number' ? count : 0
  } catch {
    return 0
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(finish, ms)
    function finish(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve()
    }
    signal.addEventListener('abort', finish)
  })
}
