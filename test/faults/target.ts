// The gateway of an entry with the provider of the suite behind it, and its processes.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { type ProcessOptions, readLog, type StartedGateway, startGateway } from '../support/gateway.ts'
import type { Owner } from '../support/owner.ts'
import { readChildPids, waitUntil } from '../support/processes.ts'
import type { Outcome } from './load.ts'
import { type Provider, startProvider } from './provider.ts'

export type ProcessKind = 'worker' | 'writer' | 'store' | 'limits'

const ENTRIES: Readonly<Record<ProcessKind, RegExp>> = {
  worker: /\/worker\/main\.ts/,
  writer: /\/writer\/main\.ts/,
  store: /\/store\/main\.ts/,
  limits: /\/limits\/redis\/main\.ts/
}

export interface Target {
  readonly gateway: StartedGateway
  readonly provider: Provider
  readonly url: string
  pidsOf(kind: ProcessKind): number[]
  /** How many lines of the log have this event. */
  countEvents(event: string): number
  isReady(): Promise<boolean>
}

/** Small waits, so that a silent provider is no long one. */
const VARIABLES = {
  GATEWAY_WORKERS: '2',
  GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: '4',
  UPSTREAM_FIRST_BYTE_TIMEOUT: '4',
  UPSTREAM_TIMEOUT: '4',
  UPSTREAM_CREDENTIALS: Buffer.from('faults:secret').toString('base64')
}

/** The variables that lead a gateway to the provider. */
export function providerVariables(provider: Provider, host = '127.0.0.1'): Record<string, string> {
  return {
    ...VARIABLES,
    UPSTREAM_BASE_URL: `http://${host}:${provider.port}/api/v1`,
    UPSTREAM_AUTH_URL: `http://127.0.0.1:${provider.port}/api/v2/oauth`
  }
}

export interface TargetOptions extends ProcessOptions {
  /** One that is there already. */
  readonly provider?: Provider
  /** The name by which the gateway reaches the provider. */
  readonly providerHost?: string
}

/** Starts both and waits until the gateway is ready. */
export async function startTarget(owner: Owner, given: TargetOptions = {}): Promise<Target> {
  const { env, providerHost, provider = await startProvider(owner), ...options } = given
  const gateway = await startGateway(owner, {
    ...options,
    env: { ...providerVariables(provider, providerHost), ...env }
  })
  const target = describeTarget(gateway, provider)
  await waitUntil(target.isReady, 'the gateway is ready')
  return target
}

export function describeTarget(gateway: StartedGateway, provider: Provider): Target {
  const pid = gateway.process.pid ?? 0
  return {
    gateway,
    provider,
    url: gateway.url,
    pidsOf: kind => readChildPids(pid).filter(child => ENTRIES[kind].test(readCommand(child))),
    countEvents: event => readLog(gateway).filter(line => line.event === event).length,
    isReady: () => isReady(gateway.url)
  }
}

export async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/ready`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(5_000)
    })
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}

function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** Which connections ended with a process. */
export interface KilledConnections {
  /** From here on it stood still. */
  readonly stoppedAtMs: number
  /** From here on the system had closed all that it had, its listener included. */
  readonly goneAtMs: number
  /** The ports of the clients. */
  readonly ports: ReadonlySet<number>
}

/**
 * Kills a process that accepts connections and tells which ones were its own: those that it had accepted, and those that waited to be accepted by
 * any process, because the system resets the queue of a listener that is gone. The process stands still meanwhile, so that it takes none.
 */
export async function killWithConnections(pid: number, url: string): Promise<KilledConnections> {
  const gatewayPort = Number(new URL(url).port)
  const stoppedAtMs = performance.now()
  process.kill(pid, 'SIGSTOP')
  const inodes = readSocketInodes(pid)
  const ports = new Set<number>()
  for (const { localPort, remotePort, inode } of readConnections()) {
    if (localPort === gatewayPort && (inode === 0 || inodes.has(inode))) ports.add(remotePort)
  }
  process.kill(pid, 'SIGKILL')
  await waitUntil(() => !isAlive(pid), 'the process is gone')
  return { stoppedAtMs, goneAtMs: performance.now(), ports }
}

/** Whether a lost question was on a connection of a killed process, or on one that the system had given to its listener. */
export function wasKilled(kills: readonly KilledConnections[]): (outcome: Outcome) => boolean {
  return ({ port, isFirst, startedAtMs, connectedAtMs, endedAtMs }) =>
    kills.some(({ stoppedAtMs, goneAtMs, ports }) => {
      if (endedAtMs < stoppedAtMs) return false
      const wasQueued = isFirst && startedAtMs <= goneAtMs
      return wasQueued || (ports.has(port) && connectedAtMs <= goneAtMs)
    })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function readSocketInodes(pid: number): Set<number> {
  const folder = `/proc/${pid}/fd`
  const inodes = readdirSync(folder).flatMap(name => {
    try {
      return Number(/^socket:\[(\d+)\]/.exec(readlinkSync(`${folder}/${name}`))?.[1] ?? [])
    } catch {
      return []
    }
  })
  return new Set(inodes)
}

function readConnections(): Array<{ localPort: number; remotePort: number; inode: number }> {
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  return lines.flatMap(line => {
    const [, local = '', remote = '', , , , , , , inode] = line.trim().split(/\s+/)
    const portOf = (address: string) => Number.parseInt(address.split(':')[1] ?? '', 16)
    return inode === undefined ? [] : { localPort: portOf(local), remotePort: portOf(remote), inode: Number(inode) }
  })
}
