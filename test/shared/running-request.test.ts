import t from 'tap'
import { keepOldest, mergeRunning, RUNNING_REQUESTS_MAX, type RunningRequest } from '../../shared/running-request.ts'

const startedAt = (startedAtMs: number) => ({ startedAtMs }) as RunningRequest

t.test('lists of several processes become one of the oldest requests, and the total counts all', async t => {
  const many = Array.from({ length: RUNNING_REQUESTS_MAX }, (_, index) => startedAt(1000 + index))
  const merged = mergeRunning([
    { requests: many, total: 5_000 },
    { requests: [startedAt(999), startedAt(1_000_000)], total: 2 }
  ])
  t.equal(merged.total, 5_002)
  t.equal(merged.requests.length, RUNNING_REQUESTS_MAX)
  t.equal(merged.requests[0]?.startedAtMs, 999)
  t.notOk(merged.requests.some(({ startedAtMs }) => startedAtMs === 1_000_000))
  t.same(keepOldest([startedAt(2), startedAt(1)]), [startedAt(1), startedAt(2)])
  t.same(mergeRunning([]), { requests: [], total: 0 })
})
