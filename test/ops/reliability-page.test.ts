import { readFileSync } from 'node:fs'
import t from 'tap'
import { faultEntries } from '../faults/entries.ts'
import { PAGE, readRows } from '../faults/page.ts'

t.test('each entry of the suite of faults is a row of the reliability page, and the other way round', async t => {
  t.same(
    readRows(readFileSync(PAGE, 'utf8')),
    faultEntries.map(({ name }) => name)
  )
})
