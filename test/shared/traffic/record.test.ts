import t from 'tap'
import { hasError, writeRecordTime } from '../../../shared/traffic/record.ts'

t.test('a time has microseconds and a fixed width', async t => {
  t.equal(writeRecordTime(Date.UTC(2026, 0, 5, 10) + 123.456), '2026-01-05T10:00:00.123456Z')
  t.equal(writeRecordTime(Date.UTC(2026, 0, 5, 10)), '2026-01-05T10:00:00.000000Z')
})

t.test('a record counts as failed by its status or its error type', async t => {
  t.equal(hasError({ status_code: 399 }), false)
  t.equal(hasError({ status_code: 400 }), true)
  t.equal(hasError({ status_code: 200, error_type: 'timeout' }), true)
  t.equal(hasError({}), false)
})
