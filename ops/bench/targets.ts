// Starts what is compared: the upstream alone, bare relays, and products with one worker each, all with the same heap flags.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '../net/free-port.ts'
import type { BodyShape } from './bodies.ts'
import { PROVIDER_KEY_VARIABLE, writeBridgeProfile } from './bridge-profile.ts'
import { LOAD_KEY } from './http-exchange.ts'
import { chooseProcessors, moveTo } from './processors.ts'
import { writeSplitProfile } from './split-profile.ts'

/** A started program. */
export interface Instance {
  port: number
  /** Of the program's first process. */
  pid: number
  /** CPU seconds that the program's processes have used so far, user and system. */
  cpuSeconds(): number
}

export interface Target {
  name: string
  /** Stands in front of the path of every request. */
  prefix: string
  instance: Instance
}

export interface Targets {
  all: Target[]
  /** Where the targets run, in words. */
  placement: string
  /** The port of the upstream alone. */
  upstreamPort: number
  close(): Promise<void>
}

const HEAP_FLAGS = [
  '--max-semi-space-size=32',
  '--no-allocation-site-pretenuring',
  '--external-memory-accounted-in-global-limit'
]
/** Long, because the one processor of what is measured may have other work as well. */
const START_DEADLINE_MS = 120_000

export interface TargetOptions {
  /** Names of products, each with the checkout whose gateway it is. */
  products: Record<string, string>
  /** Further variables of products, by name. */
  variables?: Record<string, Record<string, string>>
  /** Whether the upstream alone and a bare relay are targets as well. */
  hasRelay: boolean
  /** The requests of a bridge, when the first product is to be started as one as well, with a profile file. */
  bridgeShapes?: readonly BodyShape[]
  /** Models that get an upstream of their own, with a lower priority (`writeSplitProfile`). Default: all have the same. */
  largeModels?: readonly string[]
  /** Further Node options of the products' processes. */
  nodeOptions?: string[]
  /** Whether what is measured gets a processor of its own, which leaves the products one pool thread for each worker. Default: true. */
  isPinned?: boolean
}

/** Small requests must not wait for the processor time that large ones cost their upstream. */
const LARGE_UPSTREAM_NICENESS = 10

/** Starts the upstream, and then relay and products, each once. */
export async function startTargets(options: TargetOptions): Promise<Targets> {
  const { products, hasRelay, bridgeShapes, largeModels, nodeOptions = [], isPinned = true } = options
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  const processors = isPinned ? chooseProcessors() : undefined
  const children: ChildProcess[] = []
  const startUpstream = async () => {
    const upstream = fork(join(import.meta.dirname, 'upstream.ts'), { execArgv: HEAP_FLAGS })
    children.push(upstream)
    return { port: await readPort(upstream), pid: upstream.pid ?? 0 }
  }
  const upstream = await startUpstream()
  const upstreamPort = upstream.port
  const direct = { ...upstream, cpuSeconds: () => readCpuSeconds(upstream.pid) }
  let split = {}
  if (largeModels !== undefined) {
    const largeUpstream = await startUpstream()
    setPriority(largeUpstream.pid, LARGE_UPSTREAM_NICENESS)
    split = writeSplitProfile(folder, { upstream: upstreamPort, largeUpstream: largeUpstream.port }, largeModels)
  }
  if (processors !== undefined) moveTo(processors.measured)
  const planned: ProductPlan[] = Object.entries(products).map(([name, checkout]) => ({
    name,
    checkout,
    variables: {
      UPSTREAM_BASE_URL: `http://127.0.0.1:${upstreamPort}/api/v1`,
      UPSTREAM_ACCESS_TOKEN: 'bench',
      UPSTREAM_MODEL: 'bench',
      ...split,
      ...options.variables?.[name]
    }
  }))
  const [first] = planned
  if (bridgeShapes !== undefined && first !== undefined) {
    const config = writeBridgeProfile(folder, upstreamPort, bridgeShapes)
    const variables = { GATEWAY_CONFIG: config, [PROVIDER_KEY_VARIABLE]: 'bench' }
    planned.push({ name: 'bridge', checkout: first.checkout, variables })
  }
  const all: Target[] = []
  if (hasRelay) {
    const child = startRelay(upstreamPort)
    children.push(child)
    const relay = { port: await readPort(child), pid: child.pid ?? 0, cpuSeconds: () => readCpuSeconds(child.pid) }
    all.push({ name: 'direct', prefix: '/api', instance: direct }, { name: 'relay', prefix: '', instance: relay })
  }
  for (const { name, checkout, variables } of planned) {
    const port = await findFreePort()
    const logFile = join(folder, `${name}.log`)
    const product = startProduct({ checkout, port, logFile, folder, nodeOptions, variables })
    children.push(product)
    // One after the other: on one processor, many starts at once take longer together than one of them may.
    await waitUntilReady(port)
    const instance = { port, pid: product.pid ?? 0, cpuSeconds: () => readFamilyCpuSeconds(product.pid) }
    all.push({ name, prefix: '', instance })
  }
  if (processors !== undefined) moveTo(processors.other)
  return {
    upstreamPort,
    placement:
      processors === undefined
        ? 'every process on any processor'
        : `relay and product on processor ${processors.measured}, upstream and load on ${processors.other}`,
    all,
    async close() {
      const exits = children.map(child => (child.exitCode === null ? once(child, 'exit') : undefined))
      for (const child of children) {
        if (child.connected) child.disconnect()
        else child.kill('SIGTERM')
      }
      await Promise.all(exits)
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

function startRelay(upstreamPort: number): ChildProcess {
  return fork(join(import.meta.dirname, 'relay.ts'), {
    execArgv: HEAP_FLAGS,
    env: { ...process.env, BENCH_UPSTREAM: `http://127.0.0.1:${upstreamPort}` }
  })
}

interface ProductPlan {
  name: string
  checkout: string
  /** What tells it its upstream. */
  variables: Record<string, string>
}

interface ProductPlace {
  checkout: string
  port: number
  variables: Record<string, string>
  logFile: string
  folder: string
  nodeOptions: string[]
}

function startProduct({ checkout, port, variables, logFile, folder, nodeOptions }: ProductPlace): ChildProcess {
  return spawn(process.execPath, [...nodeOptions, join(checkout, 'supervisor', 'main.ts')], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      GATEWAY_HOST: '127.0.0.1',
      GATEWAY_PORT: String(port),
      GATEWAY_WORKERS: '1',
      GATEWAY_ENABLE_API_KEY_AUTH: 'true',
      GATEWAY_API_KEY: LOAD_KEY,
      GATEWAY_LOG_FILENAME: logFile,
      GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: `sqlite:${logFile}.sqlite`,
      ...variables
    }
  })
}

async function readPort(child: ChildProcess): Promise<number> {
  const [message] = await once(child, 'message', { signal: AbortSignal.timeout(START_DEADLINE_MS) })
  return (message as { port: number }).port
}

async function waitUntilReady(port: number): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS
  while (Date.now() < deadline) {
    const response = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined)
    await response?.arrayBuffer()
    if (response?.status === 200) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('The product did not become ready.')
}

/** The last figure of every thread, by process: a pool thread that has ended meanwhile has still used its time. */
const threadSeconds = new Map<number, Map<string, number>>()

/** Reads `/proc`, so the benchmark runs on Linux: nanoseconds of every thread, which `stat` rounds to hundredths of a second. */
function readCpuSeconds(pid: number | undefined): number {
  if (pid === undefined || !existsSync(`/proc/${pid}/task`)) throw new Error('A target has exited.')
  const seconds = threadSeconds.get(pid) ?? new Map<string, number>()
  threadSeconds.set(pid, seconds)
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const nanoseconds = readThreadNanoseconds(pid, id)
    if (nanoseconds !== undefined) seconds.set(id, nanoseconds / 1e9)
  }
  return [...seconds.values()].reduce((sum, one) => sum + one, 0)
}

/** Undefined for a thread that ended after it was listed. */
function readThreadNanoseconds(pid: number, id: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'latin1').split(' ')[0])
  } catch {
    return undefined
  }
}

/** The supervisor and its workers together. The writer of the traffic log is left out: it works beside the requests. */
function readFamilyCpuSeconds(pid: number | undefined): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean)
  const measured = children.map(Number).filter(child => !isWriter(child))
  return [pid, ...measured].reduce((sum: number, id) => sum + readCpuSeconds(id), 0)
}

function isWriter(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(join('supervisor', 'writer', 'main'))
}
