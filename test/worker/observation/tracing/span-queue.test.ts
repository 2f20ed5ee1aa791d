import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import { pino } from 'pino'
import t from 'tap'
import { SpanQueue } from '../../../../worker/observation/tracing/span-queue.ts'

type Report = Parameters<SpanExporter['export']>[1]

interface Export {
  spans: ReadableSpan[]
  succeed(): void
  fail(error?: Error): void
}

/** A queue in front of an exporter that answers when the test says so. */
function createQueue(options: { size?: number; dropsWhenFull?: boolean; batchSize?: number } = {}) {
  const exports: Export[] = []
  const logged: Array<Record<string, unknown>> = []
  const counted = { exported: 0, dropped: 0 }
  const clock = { nowMs: 0 }
  let arrived: (() => void) | undefined
  const exporter: SpanExporter = {
    export(spans: ReadableSpan[], report: Report) {
      exports.push({
        spans,
        succeed: () => report({ code: 0 }),
        fail: (error = new Error('secret address')) => report({ code: 1, error })
      })
      arrived?.()
    },
    shutdown: async () => undefined
  }
  const queue = new SpanQueue({
    exporter,
    size: 4,
    dropsWhenFull: true,
    batchSize: 2,
    ...options,
    counts: {
      exported: count => {
        counted.exported += count
      },
      dropped: count => {
        counted.dropped += count
      }
    },
    log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    nowMs: () => clock.nowMs
  })
  /** Resolves with the export of this index, once it began. */
  async function exportAt(index: number): Promise<Export> {
    while (exports.length <= index) {
      await new Promise<void>(resolve => {
        arrived = resolve
      })
    }
    return exports[index] as Export
  }
  return { queue, exports, exportAt, counted, logged, clock }
}

function spanOf(text = ''): ReadableSpan {
  const span = { attributes: { text, list: ['a', text] }, events: [{ attributes: { text } }] }
  return {
    ...span,
    resource: { asyncAttributesPending: false },
    spanContext: () => ({ traceId: '', spanId: '', traceFlags: 1 })
  } as unknown as ReadableSpan
}

t.test(
  'what the collector has not confirmed is bounded; the rest is dropped, counted and logged once in a while',
  async t => {
    const { queue, exportAt, counted, logged, clock } = createQueue()
    for (let index = 0; index < 10; index += 1) queue.onEnd(spanOf())
    t.same(counted, { exported: 0, dropped: 6 })
    t.match(logged, [{ event: 'trace_spans_dropped', count: 1, reason_id: 'queue_full' }])
    t.equal(logged.length, 1)
    clock.nowMs = 10_000
    queue.onEnd(spanOf())
    t.match(logged[1], { count: 6 })

    const first = await exportAt(0)
    t.equal(first.spans.length, 2)
    first.succeed()
    t.equal(counted.exported, 2)
    queue.onEnd(spanOf())
    t.equal(counted.dropped, 7, 'there is room again')
  }
)

t.test('a failed export is counted and logged by its code, without the message of its error', async t => {
  const { queue, exportAt, counted, logged } = createQueue()
  queue.onEnd(spanOf())
  queue.onEnd(spanOf())
  ;(await exportAt(0)).fail(Object.assign(new Error('secret address'), { code: 'ECONNREFUSED' }))
  t.same(counted, { exported: 0, dropped: 2 })
  t.match(logged, [{ count: 2, reason_id: 'export_failed_ECONNREFUSED' }])
  t.notMatch(JSON.stringify(logged), /secret/)
})

for (const [code, name] of [
  [14, 'UNAVAILABLE'],
  [16, 'UNAUTHENTICATED'],
  [503, '503']
] as const) {
  t.test(`the code ${code} of a collector is logged as ${name}`, async t => {
    const { queue, exportAt, logged } = createQueue()
    queue.onEnd(spanOf())
    queue.onEnd(spanOf())
    ;(await exportAt(0)).fail(Object.assign(new Error('failed'), { code }))
    t.match(logged, [{ reason_id: `export_failed_${name}` }])
  })
}

t.test('a full queue that shall not drop is sent at once, in parallel, and holds twice as much meanwhile', async t => {
  const { queue, exports, exportAt, counted } = createQueue({ dropsWhenFull: false, batchSize: 1 })
  for (let index = 0; index < 10; index += 1) queue.onEnd(spanOf())
  t.equal(counted.dropped, 2)
  await exportAt(3)
  t.ok(exports.length >= 4)
})

t.test('the texts of the held spans are bounded as well', async t => {
  const { queue, counted } = createQueue({ size: 1000 })
  const large = spanOf('x'.repeat(3 * 1024 * 1024))
  for (let index = 0; index < 4; index += 1) queue.onEnd(large)
  t.equal(counted.dropped, 1)
})

t.test('closing sends what is held, and counts what the collector does not take in time', async t => {
  const sent = createQueue()
  sent.queue.onEnd(spanOf())
  const closing = sent.queue.shutdown()
  ;(await sent.exportAt(0)).succeed()
  await closing
  t.same(sent.counted, { exported: 1, dropped: 0 })
  sent.queue.onEnd(spanOf())
  t.equal(sent.counted.dropped, 1, 'a span after the end')

  const hanging = createQueue()
  for (let index = 0; index < 3; index += 1) hanging.queue.onEnd(spanOf())
  await hanging.queue.shutdown()
  t.same(hanging.counted, { exported: 0, dropped: 3 })
  t.match(hanging.logged, [{ count: 3, reason_id: 'closed' }])
  for (const late of hanging.exports) late.fail()
  t.equal(hanging.counted.dropped, 3, 'nothing is counted twice')
})
