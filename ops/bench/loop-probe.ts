// Loaded into the processes of the measured gateway by `--import`, because the product has no figures of its own for this. In the main
// thread of a worker it measures how long the event loop is busy at a time and how far the process grows, and reports to the benchmark
// over a socket. The address stands in the query of the import: a worker gets no variable of its environment.

import cluster from 'node:cluster'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { isMainThread } from 'node:worker_threads'
import type { HotSpot, LoopProfile } from './loop-profile.ts'

export interface ProbeReport {
  pid: number
  /** Processor time in which the event loop was busy without a break: the longest ones, in descending order. */
  blocksMs: number[]
  /** Delay of the event loop by the clock, which also counts the time in which other processes had the processor. */
  delayMs: { p99: number; max: number }
  /** Processor time of the main thread, as a share of the elapsed time. */
  busyShare: number
  /** Largest resident memory since `begin`, minus the memory at `begin`. */
  growthMegabytes: number
  /** Where the time of long blocks went; empty without a profile. */
  hotSpots: HotSpot[]
}

export type ProbeOrder = { kind: 'begin'; hasProfile: boolean } | { kind: 'end' }

const TICK_MS = 5
const BLOCKS_KEPT = 3
/** Blocks from this time on are explained by a profile. */
const PROFILED_BLOCK_MS = 25
const PROFILED_BLOCKS_MAX = 2000
const MEGABYTE = 1024 * 1024

const address = new URL(import.meta.url).searchParams.get('socket')
if (isMainThread && cluster.isWorker && address !== null) startProbe(address)

function startProbe(path: string): void {
  const socket = connect(path)
  socket.unref()
  socket.on('error', () => undefined)
  const delay = monitorEventLoopDelay({ resolution: TICK_MS })
  delay.enable()
  let blocksMs: number[] = []
  let longBlocks: Array<{ fromUs: number; toUs: number }> = []
  let usage = process.threadCpuUsage()
  let tickedUs = readClockUs()
  let beganMs = performance.now()
  let busyMs = 0
  let residentBytes = 0
  let profile: LoopProfile | undefined

  function tick(): void {
    const { user, system } = process.threadCpuUsage(usage)
    const spentMs = (user + system) / 1000
    const nowUs = readClockUs()
    busyMs += spentMs
    if (spentMs > (blocksMs.at(-1) ?? 0) || blocksMs.length < BLOCKS_KEPT) {
      blocksMs = [...blocksMs, spentMs].toSorted((left, right) => right - left).slice(0, BLOCKS_KEPT)
    }
    if (profile !== undefined && spentMs >= PROFILED_BLOCK_MS && longBlocks.length < PROFILED_BLOCKS_MAX) {
      longBlocks.push({ fromUs: tickedUs, toUs: nowUs })
    }
    // Read again, so that the work of this function is not counted.
    usage = process.threadCpuUsage()
    tickedUs = nowUs
  }
  setInterval(tick, TICK_MS).unref()

  async function begin(hasProfile: boolean): Promise<number> {
    profile = hasProfile ? await (await import('./loop-profile.ts')).startProfile() : undefined
    tick()
    blocksMs = []
    longBlocks = []
    busyMs = 0
    beganMs = performance.now()
    delay.reset()
    resetPeak()
    residentBytes = process.memoryUsage.rss()
    return process.pid
  }

  async function end(): Promise<ProbeReport> {
    tick()
    const growthMegabytes = Math.max(0, (readPeakBytes() - residentBytes) / MEGABYTE)
    const report = {
      pid: process.pid,
      blocksMs,
      delayMs: { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 },
      busyShare: busyMs / (performance.now() - beganMs),
      growthMegabytes
    }
    const blocks = longBlocks
    const hotSpots = (await profile?.stop(blocks)) ?? []
    profile = undefined
    return { ...report, hotSpots }
  }

  createInterface({ input: socket }).on('line', line => {
    const order = JSON.parse(line) as ProbeOrder
    const done: Promise<unknown> = order.kind === 'begin' ? begin(order.hasProfile) : end()
    void done.then(answer => socket.write(`${JSON.stringify(answer)}\n`))
  })
}

/** The clock of the profiler. */
function readClockUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** Makes the kernel's peak of the resident memory the memory of this moment. */
function resetPeak(): void {
  writeFileSync('/proc/self/clear_refs', '5')
}

function readPeakBytes(): number {
  return Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? 0) * 1024
}
