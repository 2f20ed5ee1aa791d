import { pino } from 'pino'
import t from 'tap'
import { createAbsenceCheck } from '../../../worker/traffic/absence-report.ts'

t.test('a worker without a writer says so after two looks and then with each twelfth, and when it is back', async t => {
  const lines: Array<{ event: string; waiting?: number }> = []
  const log = pino({ base: null, timestamp: false }, { write: line => lines.push(JSON.parse(line)) })
  let isConnected = false
  let waiting = 0
  const look = createAbsenceCheck({ log, isConnected: () => isConnected, waiting: () => waiting })
  look()
  t.same(lines, [], 'a writer that starts is no reason')
  for (waiting = 1; waiting <= 13; waiting += 1) look()
  const warnings = lines.filter(({ event }) => event === 'traffic_writer_unreachable')
  t.same(
    warnings.map(line => line.waiting),
    [1, 13]
  )
  isConnected = true
  look()
  look()
  t.equal(lines.filter(({ event }) => event === 'traffic_writer_reached').length, 1)
})
