// The export of the package: starts a gateway as a child process of another program, such as a test suite. It imports only modules of
// Node, so that the program loads nothing of the gateway.
import { type ChildProcess, spawn } from 'node:child_process'
import { devNull } from 'node:os'
import { extname, join } from 'node:path'

/** Longer than the gateway's own bound (`GATEWAY_STARTUP_TIMEOUT_SECONDS`), whose message names what was late. */
const START_TIMEOUT_MS = 60_000
/** Longer than the default drain of 25 s and the closing that follows it. */
const STOP_TIMEOUT_MS = 35_000
/** Characters of output that are kept for the error of a failed start: the last ones, where the reason is. */
const OUTPUT_MAX = 16_384
/** The output may arrive after the exit. A child of the gateway that keeps the pipe open must not delay the error for long. */
const LAST_OUTPUT_TIMEOUT_MS = 1_000

const defaultVariables = {
  GATEWAY_HOST: '127.0.0.1',
  GATEWAY_PORT: '0',
  GATEWAY_WORKERS: '1',
  GATEWAY_LOG_FILENAME: devNull
}

export interface StartGatewayOptions {
  /**
   * Settings and other variables, added to the environment of this process; undefined removes a variable. Without them the gateway
   * listens on a free port of 127.0.0.1 with one worker and writes no log file.
   */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Path of a provider profile file, as `--config`. */
  readonly config?: string
  /** Further arguments of the command, such as `--demo`. */
  readonly args?: readonly string[]
  /** Working directory, where the gateway also reads a `.env` file. Default: that of this process. */
  readonly cwd?: string
  /** Milliseconds until the gateway must listen. Default: 60000. */
  readonly startTimeoutMs?: number
  /** Milliseconds that `stop` leaves for the drain before it kills the gateway. Default: 35000. */
  readonly stopTimeoutMs?: number
  /** Stops the gateway when it aborts, also during the start. */
  readonly signal?: AbortSignal
  /** Called with each piece of text that the gateway writes to stdout or stderr. Without it the text is dropped. */
  readonly onOutput?: (text: string) => void
}

export interface RunningGateway {
  /** Such as `http://127.0.0.1:41234`, without a path. */
  readonly url: string
  /**
   * Sends SIGTERM, waits for the exit, and kills the gateway after `stopTimeoutMs`. Resolves with the exit code, null after a kill.
   * Further calls return the same promise.
   */
  stop(): Promise<number | null>
}

/** A gateway that did not start. The message has the output of the gateway, in which secrets are masked. */
export class GatewayStartError extends Error {
  override readonly name = 'GatewayStartError'
  /** The exit code of the gateway; null when a signal ended it or it could not be started. */
  readonly exitCode: number | null
  /** The last lines that the gateway wrote. */
  readonly output: string

  constructor(reason: string, facts: { exitCode: number | null; output: string; cause?: unknown }) {
    super(`The gateway ${reason}${facts.output === '' ? '.' : `:\n${facts.output}`}`, { cause: facts.cause })
    this.exitCode = facts.exitCode
    this.output = facts.output
  }
}

/**
 * Starts a gateway and resolves when it listens. Rejects with GatewayStartError when it exits before that or is late, and with the
 * reason of `signal` when that aborts. The gateway stops when this process exits, however that happens.
 */
export async function startGateway(options: StartGatewayOptions = {}): Promise<RunningGateway> {
  const { signal, startTimeoutMs = START_TIMEOUT_MS, stopTimeoutMs = STOP_TIMEOUT_MS } = options
  signal?.throwIfAborted()
  const child = spawnGateway(options)
  const output = collectOutput(child, options.onOutput)
  const ended = watchEnd(child)
  let stopping: Promise<number | null> | undefined
  const stop = () => {
    stopping ??= stopChild(child, { ended, timeoutMs: stopTimeoutMs })
    return stopping
  }
  const stopAfterAbort = () => void stop()
  signal?.addEventListener('abort', stopAfterAbort)
  void ended.then(() => signal?.removeEventListener('abort', stopAfterAbort))

  const started = await waitForStart(child, { ended, timeoutMs: startTimeoutMs })
  if (started.kind === 'listening' && signal?.aborted !== true) {
    output.drop()
    return { url: started.url, stop }
  }
  const exitCode = await stop()
  signal?.throwIfAborted()
  const { reason, cause } = started.kind === 'failed' ? started : { reason: 'was stopped', cause: undefined }
  throw new GatewayStartError(reason, { exitCode, output: await output.readAll(), cause })
}

interface End {
  readonly exitCode: number | null
  /** The process could not be started. */
  readonly error?: Error
}

type Start =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly cause?: unknown }

function spawnGateway({ env, config, args = [], cwd }: StartGatewayOptions): ChildProcess {
  // The entry has the ending of this file: sources run as TypeScript, the packed artifact as JavaScript.
  const entry = join(import.meta.dirname, `child-main${extname(import.meta.filename)}`)
  const configArguments = config === undefined ? [] : ['--config', config]
  return spawn(process.execPath, [entry, ...configArguments, ...args], {
    env: { ...process.env, ...defaultVariables, ...env },
    // The channel reports the URL, and its end tells the gateway that this process has exited.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    ...(cwd !== undefined && { cwd })
  })
}

/** Reads both pipes to their end, so that the gateway never waits for a reader. */
function collectOutput(child: ChildProcess, onOutput: StartGatewayOptions['onOutput']) {
  let kept = ''
  let isKept = true
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      if (isKept) kept = (kept + text).slice(-OUTPUT_MAX)
      onOutput?.(text)
    })
  }
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  return {
    /** Keeps nothing from now on. */
    drop() {
      isKept = false
      kept = ''
    },
    async readAll(): Promise<string> {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<void>(resolve => {
        timer = setTimeout(resolve, LAST_OUTPUT_TIMEOUT_MS)
      })
      await Promise.race([closed, late])
      clearTimeout(timer)
      return kept.trim()
    }
  }
}

function watchEnd(child: ChildProcess): Promise<End> {
  return new Promise(resolve => {
    child.once('exit', exitCode => resolve({ exitCode }))
    child.on('error', error => {
      // Later errors, such as a failed kill, are followed by the exit.
      if (child.pid === undefined) resolve({ exitCode: null, error })
    })
  })
}

async function waitForStart(
  child: ChildProcess,
  { ended, timeoutMs }: { ended: Promise<End>; timeoutMs: number }
): Promise<Start> {
  let timer: NodeJS.Timeout | undefined
  const settled = new Promise<Start>(resolve => {
    child.on('message', message => {
      const url = readListeningUrl(message)
      if (url !== undefined) resolve({ kind: 'listening', url })
    })
    timer = setTimeout(() => resolve({ kind: 'failed', reason: `did not listen within ${timeoutMs} ms` }), timeoutMs)
  })
  const failed = ended.then<Start>(({ exitCode, error }) => {
    if (error !== undefined) return { kind: 'failed', reason: 'could not be started', cause: error }
    const how = exitCode === null ? 'was ended by a signal' : `exited with ${exitCode}`
    return { kind: 'failed', reason: `${how} before it listened` }
  })
  try {
    return await Promise.race([settled, failed])
  } finally {
    clearTimeout(timer)
  }
}

function readListeningUrl(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null) return undefined
  if (!('event' in message) || message.event !== 'listening') return undefined
  return 'url' in message && typeof message.url === 'string' ? message.url : undefined
}

async function stopChild(
  child: ChildProcess,
  { ended, timeoutMs }: { ended: Promise<End>; timeoutMs: number }
): Promise<number | null> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  const { exitCode } = await ended
  clearTimeout(timer)
  return exitCode
}
