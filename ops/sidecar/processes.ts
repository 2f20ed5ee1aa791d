// Starts the processes of the sequence: the preflight, the gateway, and the embedded upstream of the artifact.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { StepFailure } from './step-failure.ts'

export interface Started {
  child: ChildProcess
  /** Everything on stdout and stderr so far. */
  output(): string
  /** Resolves with the exit code, null after a signal. */
  exited: Promise<number | null>
}

/** Starts Node with an entry and its arguments; its output is kept. */
export function startNode(args: readonly string[], options: { env: NodeJS.ProcessEnv; cwd: string }): Started {
  const child = spawn(process.execPath, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  const keep = (chunk: unknown) => {
    output += String(chunk)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  const exited = once(child, 'close').then(([code]) => code as number | null)
  return { child, output: () => output, exited }
}

/** Runs Node to its end. Throws StepFailure when it takes longer than the deadline. */
export async function runNode(
  args: readonly string[],
  options: { env: NodeJS.ProcessEnv; cwd: string; deadlineMs: number }
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { deadlineMs, ...rest } = options
  const child = spawn(process.execPath, args, { ...rest, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', chunk => {
    stdout += String(chunk)
  })
  child.stderr.on('data', chunk => {
    stderr += String(chunk)
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  if (signal === 'SIGKILL') throw new StepFailure(`no end within ${deadlineMs / 1000} s`)
  return { code, stdout, stderr }
}

/** Starts the embedded upstream; resolves with the base URL of its chat-completions wire. It ends with its stdin. */
export async function startUpstream(
  entry: string,
  options: { env: NodeJS.ProcessEnv; cwd: string; deadlineMs: number }
): Promise<{ started: Started; chatBaseUrl: string }> {
  const { deadlineMs, ...rest } = options
  const started = startNode([entry], rest)
  if (started.child.stdout === null) throw new StepFailure('the upstream has no output')
  const lines = createInterface({ input: started.child.stdout })
  const [line] = await Promise.race([
    once(lines, 'line', { signal: AbortSignal.timeout(deadlineMs) }),
    started.exited.then(code => Promise.reject(new StepFailure(`the upstream ended with ${code}`)))
  ])
  return { started, chatBaseUrl: JSON.parse(String(line)).chatBaseUrl }
}
