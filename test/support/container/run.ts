// Runs an assembled image as a container engine does: as its numeric user, as process 1 of a namespace of its own, with a read-only root,
// one writable volume and without any capability (bubblewrap).

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { whyWithoutProgram } from '../programs.ts'
import { findListeningUrl } from '../serving-gateway.ts'
import { createTemporaryFolder } from '../temporary.ts'
import type { Image } from './image.ts'
import type { MemoryGroup } from './memory-group.ts'

const START_DEADLINE_MS = 60_000
const CGROUPS = '/sys/fs/cgroup'

/** The reason to skip a test that runs an image; false where it can run. */
export function whyWithoutContainers(): string | false {
  if (process.platform !== 'linux') return 'containers need Linux'
  if (process.getuid?.() !== 0) return 'only root can run a container as another user'
  const missing = ['bwrap', 'nsenter', 'setpriv'].map(whyWithoutProgram).find(reason => reason !== false)
  if (missing !== undefined) return missing
  try {
    execFileSync('setpriv', [...asUser(65_534, 65_534), 'bwrap', '--unshare-user', '--ro-bind', '/', '/', 'true'])
    return false
  } catch {
    return 'this system lets no unprivileged user create a namespace'
  }
}

export interface ContainerOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  /** Its processes and what they may use. */
  readonly memory?: MemoryGroup | undefined
}

export interface Container {
  readonly url: string
  /** The volume, as the host sees it. */
  readonly volume: string
  /** All of stdout so far. */
  readonly output: () => string
  /** The health check of the image, as the engine runs it: the exit code. */
  checkHealth(): Promise<number | null>
  /** The processes of the container, as the host sees them: ids and states. */
  processes(): Array<{ readonly pid: number; readonly state: string; readonly command: string }>
  /** Sends SIGTERM to process 1, as `docker stop` does, and waits for the exit. */
  stop(): Promise<number | null>
  readonly exited: Promise<unknown>
}

/** Starts the image and waits until it listens. It is killed with the test. */
export async function runContainer(t: Test, image: Image, options: ContainerOptions): Promise<Container> {
  const folder = createTemporaryFolder(t)
  // The user of the image must reach what lies below.
  chmodSync(folder, 0o711)
  const volume = join(folder, 'data')
  mkdirSync(volume)
  chownSync(volume, image.user, image.group)
  const child = spawn(...planCommand(image, volume, options), { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exited
  })
  let output = ''
  const url = await readUrl(child, text => {
    output += text
    return output
  })
  const first = findFirst(child.pid ?? 0)
  return {
    url,
    volume,
    output: () => output,
    processes: () => listDescendants(first),
    async checkHealth() {
      const check = spawn('nsenter', enter(first, image), { env: variables(image, options), stdio: 'ignore' })
      await once(check, 'exit')
      return check.exitCode
    },
    async stop() {
      process.kill(first, 'SIGTERM')
      await exited
      return child.exitCode
    },
    exited
  }
}

function asUser(user: number, group: number): string[] {
  return [`--reuid=${user}`, `--regid=${group}`, '--clear-groups', '--no-new-privs']
}

function variables({ environment }: Image, options: ContainerOptions): Record<string, string> {
  return { ...environment, ...options.environment }
}

function planCommand(image: Image, volume: string, options: ContainerOptions): [string, string[]] {
  const [target = ''] = image.volumes
  const container = [
    ...['setpriv', ...asUser(image.user, image.group), 'bwrap', '--die-with-parent', '--unshare-user'],
    ...['--uid', String(image.user), '--gid', String(image.group), '--unshare-pid', '--as-pid-1', '--unshare-ipc'],
    ...['--ro-bind', image.folder, '/', '--proc', '/proc', '--dev', '/dev', '--bind', volume, target],
    // An engine mounts what tells a process its own limits.
    ...(existsSync(CGROUPS) ? ['--ro-bind', CGROUPS, CGROUPS] : []),
    ...['--remount-ro', '/dev', '--chdir', image.workingFolder, '--clearenv'],
    ...Object.entries(variables(image, options)).flatMap(([name, value]) => ['--setenv', name, value]),
    ...[...image.entrypoint, ...(options.args ?? [])]
  ]
  const [program = '', ...args] = options.memory === undefined ? container : options.memory.enter(container)
  return [program, args]
}

/** As `docker exec` does: a further process in the namespaces of the first one. */
function enter(first: number, { user, group, healthCheck }: Image): string[] {
  const who = ['--setuid', String(user), '--setgid', String(group)]
  return ['--target', String(first), '--mount', '--pid', '--ipc', ...who, '--', ...healthCheck]
}

/** The process that is the first of its namespace: the only child of bubblewrap. */
function findFirst(launcher: number): number {
  const [first] = listChildren(launcher)
  if (first === undefined) throw new Error('The container has no process.')
  return first
}

function listChildren(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function listDescendants(pid: number): ReturnType<Container['processes']> {
  const state = /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '?'
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  return [{ pid, state, command }, ...listChildren(pid).flatMap(listDescendants)]
}

function readUrl(child: ChildProcess, add: (text: string) => string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let output = ''
  const fail = (what: string) => reject(new Error(`The container ${what}:\n${output.slice(-4000)}`))
  const deadline = setTimeout(fail, START_DEADLINE_MS, 'did not listen in time')
  const take = (chunk: Buffer) => {
    output = add(String(chunk))
    const url = findListeningUrl(output)
    if (url !== undefined) resolve(url)
  }
  child.stdout?.on('data', take)
  child.stderr?.on('data', take)
  child.once('exit', code => fail(`exited with ${code}`))
  return promise.finally(() => clearTimeout(deadline))
}
