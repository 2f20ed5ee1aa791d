import t from 'tap'
import { readTimestamp, showTime } from '../../../worker/admin/timestamps.ts'
import * as fc from '../../support/properties.ts'

const TIME = '2026-01-05T10:00:00.000000Z'

t.test('every form of the same time is that time', async t => {
  for (const text of [
    '2026-01-05T10:00:00Z',
    '2026-01-05t10:00:00z',
    '2026-01-05 10:00:00',
    '2026-01-05T10:00',
    '2026-01-05T10:00:00.000000000Z',
    '2026-01-05T13:00:00+03:00',
    '2026-01-05T13:00:00 03:00',
    '2026-01-05T13:00:00+0300',
    '2026-01-04T23:30:00-10:30',
    '1767607200',
    '1767607200.0'
  ]) {
    t.equal(readTimestamp(text, 'down'), TIME, text)
  }
  t.equal(readTimestamp('2026-01-05', 'up'), '2026-01-05T00:00:00.000000Z')
  t.equal(readTimestamp('-1.5', 'up'), '1969-12-31T23:59:58.500000Z')
  t.equal(readTimestamp('0', 'up'), '1970-01-01T00:00:00.000000Z')
  t.equal(readTimestamp('0001-01-01', 'up'), '0001-01-01T00:00:00.000000Z')
  t.equal(readTimestamp('9999-12-31T23:59:59.999999Z', 'up'), '9999-12-31T23:59:59.999999Z')
})

t.test('digits behind the microseconds round towards the records that the filter means', async t => {
  t.equal(readTimestamp('2026-01-05T10:00:00.1234567Z', 'up'), '2026-01-05T10:00:00.123457Z')
  t.equal(readTimestamp('2026-01-05T10:00:00.1234567Z', 'down'), '2026-01-05T10:00:00.123456Z')
  t.equal(readTimestamp('2026-01-05T10:00:59.9999999Z', 'up'), '2026-01-05T10:01:00.000000Z')
  t.equal(readTimestamp('-0.0000001', 'down'), '1969-12-31T23:59:59.999999Z')
  t.equal(readTimestamp('-0.0000001', 'up'), '1970-01-01T00:00:00.000000Z')
})

t.test('anything else is no time', async t => {
  for (const text of [
    '',
    'abc',
    'now',
    '2026-02-30',
    '2026-13-01',
    '2026-1-5',
    '2026-01-05T24:00:00Z',
    '2026-01-05T10:60:00Z',
    '2026-01-05T10:00:60Z',
    '2026-01-05T10:00:00+24:00',
    '2026-01-05T10:00:00.Z',
    '2026-01-05T',
    ' 2026-01-05',
    '2026-01-05\n',
    '0000-01-01',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59.9999999Z',
    '99999999999999999999',
    '253402300800',
    '1e3',
    'Infinity',
    "2026-01-05'; DROP TABLE gateway_traffic_logs; --",
    '٢٠٢٦-٠١-٠٥'
  ]) {
    t.equal(readTimestamp(text, 'up'), undefined, text)
  }
})

t.test('a time with any offset and any digits comes back exactly', async () => {
  const offsets = fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 })
  const seconds = fc.integer({ min: Date.UTC(1000, 0, 1) / 1000, max: Date.UTC(9998, 0, 1) / 1000 })
  fc.assert(
    fc.property(seconds, fc.integer({ min: 0, max: 999_999 }), offsets, (second, microseconds, offset) => {
      const fraction = String(microseconds).padStart(6, '0')
      const write = (at: number) => new Date(at * 1000).toISOString().slice(0, 19)
      const expected = `${write(second)}.${fraction}Z`
      const minutes = Math.abs(offset)
      const zone = `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
      const local = `${write(second + offset * 60)}.${fraction}${offset < 0 ? '-' : '+'}${zone}`
      return (
        readTimestamp(local, 'down') === expected &&
        readTimestamp(local, 'up') === expected &&
        (second < 0 || readTimestamp(`${second}.${fraction}`, 'up') === expected)
      )
    })
  )
})

t.test('no text is read as something that no record could have', async () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom('up' as const, 'down' as const), (text, rounding) => {
      const time = readTimestamp(text, rounding)
      return time === undefined || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(time)
    })
  )
})

t.test('times are shown with their offset', async t => {
  t.equal(showTime(TIME), '2026-01-05T10:00:00.000000+00:00')
})
