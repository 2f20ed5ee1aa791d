import t from 'tap'
import { readHeader } from '../../../../../worker/protocols/shared/errors/response-header.ts'

t.test('a repeated header has its first value', async t => {
  t.equal(readHeader({ a: ['1', '2'] }, 'a'), '1')
  t.equal(readHeader({ a: '1' }, 'a'), '1')
  t.equal(readHeader({}, 'a'), undefined)
})
