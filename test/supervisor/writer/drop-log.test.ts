import { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { createDropLog } from '../../../supervisor/writer/drop-log.ts'

function collectLines() {
  const lines: Array<Record<string, unknown>> = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    }
  })
  return { lines, log: pino(stream) }
}

t.test('the first drop has a line at once, the others together', async t => {
  const { lines, log } = collectLines()
  const drops = createDropLog({ log, intervalMs: 1_000_000 })
  for (let count = 1; count <= 4; count += 1) drops.note('postgres', 'queue_full', count)
  drops.note('jsonl', 'closed', 7)
  t.match(lines, [
    { event: 'traffic_records_dropped', sink: 'postgres', reason: 'queue_full', count: 1 },
    { sink: 'jsonl', reason: 'closed', count: 7 }
  ])
  t.equal(lines.length, 2)
  drops.close()
  t.match(lines[2], { sink: 'postgres', count: 9, msg: 'Traffic log queue is full; dropping event' })
  t.equal(lines.length, 3)
})

t.test('what was dropped within an interval is written at its end', async t => {
  const { lines, log } = collectLines()
  const drops = createDropLog({ log, intervalMs: 1 })
  drops.note('postgres', 'queue_full', 1)
  drops.note('postgres', 'queue_full', 2)
  while (lines.length < 2) await setImmediate()
  t.match(lines[1], { count: 2 })
  drops.close()
})
