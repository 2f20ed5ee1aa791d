import t from 'tap'
import type { BudgetPeriod } from '../../../shared/keys/key-set.ts'
import { findPeriod } from '../../../supervisor/limits/periods.ts'

t.test('keys 10: periods begin at midnight in UTC, weeks on Monday', async t => {
  const cases: Array<[BudgetPeriod, string, string, string | null]> = [
    ['day', '2026-11-29T23:59:59.999Z', '2026-11-29', '2026-11-30T00:00:00.000Z'],
    ['day', '2026-11-30T00:00:00.000Z', '2026-11-30', '2026-12-01T00:00:00.000Z'],
    ['week', '2026-11-29T23:59:59.999Z', '2026-11-23', '2026-11-30T00:00:00.000Z'],
    ['week', '2026-11-30T00:00:00.000Z', '2026-11-30', '2026-12-07T00:00:00.000Z'],
    ['week', '2027-01-01T12:00:00.000Z', '2026-12-28', '2027-01-04T00:00:00.000Z'],
    ['month', '2026-12-31T23:59:59.999Z', '2026-12-01', '2027-01-01T00:00:00.000Z'],
    ['month', '2028-02-29T01:00:00.000Z', '2028-02-01', '2028-03-01T00:00:00.000Z'],
    ['total', '2026-11-29T00:00:00.000Z', 'total', null]
  ]
  for (const [period, now, id, end] of cases) {
    const endsAtMs = end === null ? null : Date.parse(end)
    t.same(findPeriod(period, Date.parse(now)), { id, endsAtMs }, `${period} at ${now}`)
  }
})
