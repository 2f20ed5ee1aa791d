import t from 'tap'
import { readHeader } from '../../../../worker/protocols/shared/response-header.ts'

t.test('of a repeated header the first value counts', async t => {
  t.equal(readHeader({ a: ['1', '2'] }, 'a'), '1')
  t.equal(readHeader({ a: '1' }, 'a'), '1')
  t.equal(readHeader({}, 'a'), undefined)
})
