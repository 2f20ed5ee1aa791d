// Starts the embedded upstream as a child process, so that the gateway can be tried without an account and without a network.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { ProfileSet } from '../../shared/profile/profile.ts'

/** The upstream normally listens within a fraction of a second. */
const START_TIMEOUT_MS = 20_000
const CLOSE_TIMEOUT_MS = 3_000
const HTTP_PORT = 80

const listeningLine = z.object({
  event: z.literal('listening'),
  baseUrl: z.url(),
  authUrl: z.url(),
  controlUrl: z.url().nullable()
})

/** The embedded upstream accepts any well-formed credentials. */
export const DEMO_CREDENTIALS = Buffer.from('demo:demo').toString('base64')

export interface DemoUpstream {
  /** The variables that point the gateway at the embedded upstream. */
  readonly variables: Readonly<Record<string, string>>
  readonly controlUrl: string | undefined
  /** Calls the listener when it ends without having been closed. */
  onLost(listener: () => void): void
  close(): Promise<void>
}

/**
 * The port that the embedded upstream takes: that of the first loopback profile of a file, which was written before the upstream runs;
 * otherwise any free one (0).
 */
export function chooseDemoPort({ origin, profiles }: ProfileSet): number {
  const profile = origin === 'file' ? profiles.find(({ allowLoopback }) => allowLoopback) : undefined
  if (profile === undefined) return 0
  return Number(new URL(profile.baseUrl).port || HTTP_PORT)
}

/** Resolves when the embedded upstream listens. Rejects when it ends before, is too late, or `signal` aborts. */
export async function startDemoUpstream(port: number, signal: AbortSignal): Promise<DemoUpstream> {
  // The entry has the ending of this file: sources run as TypeScript, the packed artifact as JavaScript.
  const entry = join(import.meta.dirname, `../../ops/emulator/main${extname(import.meta.filename)}`)
  const child = spawn(process.execPath, [...process.execArgv, entry, '--port', String(port)], {
    // The child exits when this pipe closes, however this process exits.
    stdio: ['pipe', 'pipe', 'inherit'],
    // In a process group of its own, so that the terminal's Ctrl-C lets running requests finish first.
    detached: true,
    env: { PATH: process.env.PATH }
  })
  try {
    const { baseUrl, authUrl, controlUrl } = await readListeningLine(child, signal)
    let isClosing = false
    return {
      variables: {
        UPSTREAM_BASE_URL: baseUrl,
        UPSTREAM_AUTH_URL: authUrl,
        UPSTREAM_CREDENTIALS: DEMO_CREDENTIALS,
        // The proxy of the machine leads to the network, not to loopback, and nothing else is reached over http.
        HTTP_PROXY: ''
      },
      controlUrl: controlUrl ?? undefined,
      onLost(listener) {
        child.once('exit', () => {
          if (!isClosing) listener()
        })
      },
      close() {
        isClosing = true
        return endChild(child)
      }
    }
  } catch (error) {
    await endChild(child)
    throw error
  }
}

async function readListeningLine(child: ChildProcess, signal: AbortSignal): Promise<z.infer<typeof listeningLine>> {
  if (child.stdout === null) throw new Error('The embedded upstream has no output.')
  const bound = AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)])
  const lines = createInterface({ input: child.stdout })
  const ended = once(child, 'exit', { signal: bound }).then(() => {
    throw new Error('The embedded upstream ended before it listened.')
  })
  const failed = once(child, 'error', { signal: bound }).then(([error]) => Promise.reject(error))
  const [line] = await Promise.race([once(lines, 'line', { signal: bound }), ended, failed])
  return listeningLine.parse(JSON.parse(String(line)))
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  child.stdin?.end()
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), CLOSE_TIMEOUT_MS)
  await exited
  clearTimeout(timer)
}
