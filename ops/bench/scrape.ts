// What a scrape costs the processes of a gateway: eight workers report 1700 label sets each, all of them changed since the last scrape.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pino } from 'pino'
import { createMessage, readWorkerMessage } from '../../shared/ipc/messages.ts'
import { createSupervisorMetrics } from '../../supervisor/metrics/supervisor-metrics.ts'
import { startBlockMeter } from './block-meter.ts'
import type { ScrapeOrder, ScrapeReply } from './scrape-worker.ts'

const WORKERS = 8
/** Longest time in which a process does nothing else. */
const BLOCK_MS_MAX = 5
const DEADLINE_MS = 30_000

/** Prints the figures of many scrapes; false when a block is longer than the goal. */
export async function measureScrapes({ isQuick }: { isQuick: boolean }): Promise<boolean> {
  const metrics = createSupervisorMetrics({ log: pino({ level: 'silent' }), nowMs: Date.now }, { modelsMax: 200 })
  const workers = Array.from({ length: WORKERS }, () =>
    fork(join(import.meta.dirname, 'scrape-worker.ts'), { serialization: 'advanced' })
  )
  metrics.connect({
    send: (owner, message) => workers[owner - 1]?.send(createMessage(message)),
    readyOwners: () => workers.map((_, index) => index + 1)
  })
  for (const [index, worker] of workers.entries()) {
    worker.on('message', value => {
      const message = readWorkerMessage(value)
      const context = { owner: index + 1 }
      if (message?.kind === 'metrics-delta') metrics.handlers['metrics-delta'](message, context)
      else if (message?.kind === 'metrics-collected') metrics.handlers['metrics-collected'](message, context)
      else if (message?.kind === 'metrics-scrape') metrics.handlers['metrics-scrape'](message, context)
    })
  }
  const meter = startBlockMeter()

  async function measure(): Promise<{ supervisorMs: number; workerMs: number; elapsedMs: number; bytes: number }> {
    await Promise.all(workers.map(worker => ask(worker, { bench: 'touch' }, 'touched')))
    meter.reset()
    const startedMs = performance.now()
    // Any worker may be the one that is scraped.
    const { bytes } = await ask(workers[0] as ChildProcess, { bench: 'scrape' }, 'scraped')
    const elapsedMs = performance.now() - startedMs
    const supervisorMs = meter.longestMs()
    const blocks = await Promise.all(workers.map(worker => ask(worker, { bench: 'end' }, 'ended')))
    return { supervisorMs, workerMs: Math.max(...blocks.map(({ longestMs }) => longestMs)), elapsedMs, bytes }
  }

  try {
    const [warmUps, rounds] = isQuick ? [10, 10] : [60, 100]
    for (let round = 0; round < warmUps; round++) await measure()
    const results: Array<Awaited<ReturnType<typeof measure>>> = []
    for (let round = 0; round < rounds; round++) results.push(await measure())
    console.log(`scrape of ${WORKERS} workers with 1700 changed label sets each, Node ${process.version}`)
    console.log(`  ${results[0]?.bytes} bytes of text, ${describe(results.map(one => one.elapsedMs))}`)
    const isSupervisorGood = judge(
      'supervisor',
      results.map(one => one.supervisorMs)
    )
    const areWorkersGood = judge(
      'worst worker',
      results.map(one => one.workerMs)
    )
    return isSupervisorGood && areWorkersGood
  } finally {
    metrics.close()
    await Promise.all(
      workers.map(worker => {
        const exited = once(worker, 'exit')
        worker.disconnect()
        return exited
      })
    )
  }
}

async function ask<Kind extends ScrapeReply['bench']>(
  worker: ChildProcess,
  order: ScrapeOrder,
  kind: Kind
): Promise<Extract<ScrapeReply, { bench: Kind }>> {
  const signal = AbortSignal.timeout(DEADLINE_MS)
  worker.send(order)
  for (;;) {
    const [message] = (await once(worker, 'message', { signal })) as [Partial<ScrapeReply>]
    if (message.bench === kind) return message as Extract<ScrapeReply, { bench: Kind }>
  }
}

function judge(name: string, blocksMs: number[]): boolean {
  const isMet = quantile(blocksMs, 0.95) <= BLOCK_MS_MAX
  console.log(
    `  longest block, ${name}: ${describe(blocksMs)}; goal for p95 ${BLOCK_MS_MAX} ms: ${isMet ? 'met' : 'MISSED'}`
  )
  return isMet
}

function describe(values: number[]): string {
  const show = (share: number) => quantile(values, share).toFixed(1)
  return `p50 ${show(0.5)} ms, p95 ${show(0.95)} ms, longest ${show(1)} ms`
}

function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
