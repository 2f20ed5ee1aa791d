import t from 'tap'
import { writeRecordTime } from '../../../shared/traffic/record.ts'
import { readCursor, writeCursor } from '../../../worker/admin/cursor.ts'
import * as fc from '../../support/properties.ts'

const newest = { kind: 'offset', offset: 0 }

t.test('no cursor and an empty one begin at the newest record, a decimal one at its offset', async t => {
  t.same(readCursor(undefined), newest)
  t.same(readCursor(''), newest)
  t.same(readCursor('0'), newest)
  t.same(readCursor('007'), { kind: 'offset', offset: 7 })
  t.same(readCursor('999999999999999'), { kind: 'offset', offset: 999_999_999_999_999 })
})

t.test('a cursor names the record that it was made of', async () => {
  const times = fc.integer({ min: 0, max: Date.UTC(9999, 0, 1) }).map(writeRecordTime)
  fc.assert(
    fc.property(times, fc.uuid(), (created_at, id) => {
      const start = readCursor(writeCursor({ created_at, id }))
      return start.kind === 'after' && start.created_at === created_at && start.id === id
    })
  )
})

t.test('a decimal text is never taken for a record, nor the other way around', async () => {
  const times = fc.integer({ min: 0, max: Date.UTC(9999, 0, 1) }).map(writeRecordTime)
  fc.assert(fc.property(times, fc.uuid(), (created_at, id) => !/^\d+$/.test(writeCursor({ created_at, id }))))
})

t.test('anything else is refused', async t => {
  const cursor = writeCursor({ created_at: '2026-01-05T10:00:00.123456Z', id: '0198c0de-0000-7000-8000-000000000000' })
  const encode = (text: string) => Buffer.from(text).toString('base64url')
  for (const text of [
    'x',
    '-1',
    '+1',
    '1.5',
    '1e3',
    ' 1',
    '1000000000000000',
    `${cursor}=`,
    `${cursor} `,
    cursor.slice(1),
    encode('2026-01-05T10:00:00.123456Z'),
    ...['2026-13-05T10', '2026-02-31T10', '0000-01-05T10', '2026-01-05T24'].map(hour =>
      encode(`${hour}:00:00.123456Z 0198c0de-0000-7000-8000-000000000000`)
    ),
    encode("2026-01-05T10:00:00.123456Z 0198c0de-0000-7000-8000-000000000000' OR 1=1 --")
  ]) {
    t.throws(() => readCursor(text), { code: 'invalid_cursor', status: 400, message: 'Invalid cursor' }, text)
  }
  fc.assert(
    fc.property(fc.string({ unit: fc.anyCharacter }), text => {
      try {
        const start = readCursor(text)
        return start.kind === 'offset' ? /^\d*$/.test(text) : /^[\w-]+$/.test(text)
      } catch (error) {
        return (error as { code?: string }).code === 'invalid_cursor'
      }
    })
  )
})
