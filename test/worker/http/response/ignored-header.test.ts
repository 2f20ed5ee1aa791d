import t from 'tap'
import { writeIgnoredHeader } from '../../../../worker/http/response/ignored-header.ts'

const MORE = Buffer.from('…').toString('latin1')

t.test('the names stand in one line (decisions.md 70)', async t => {
  t.equal(writeIgnoredHeader(['reasoning.summary', 'tools[8]']), 'reasoning.summary, tools[8]')
})

t.test('a long history does not hide the other names', async t => {
  const names = [...Array.from({ length: 200 }, (_, index) => `input[${index}].phase`), 'reasoning.summary']
  t.equal(writeIgnoredHeader(names), 'input[].phase, reasoning.summary')
})

t.test('names beyond 1 KiB become one sign', async t => {
  const names = Array.from({ length: 100 }, (_, index) => `member_with_a_long_name_${index}`)
  const value = writeIgnoredHeader(names)
  t.ok(value.endsWith(`, ${MORE}`))
  t.ok(value.length <= 1024 + 2 + MORE.length)
  t.ok(value.startsWith('member_with_a_long_name_0, member_with_a_long_name_1, '))
  t.equal(writeIgnoredHeader(['a'.repeat(2000)]), MORE)
})
