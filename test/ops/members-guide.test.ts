import { readFileSync } from 'node:fs'
import t from 'tap'
import { replaceMemberTables } from '../../ops/docs/write-members.ts'

t.test('the tables of the guide to members are those of the code', async t => {
  const guide = readFileSync('ops/guides/members.md', 'utf8')
  t.equal(replaceMemberTables(guide), guide, 'run node ops/docs/members-table.ts')
  t.equal(replaceMemberTables('no markers'), undefined)
  t.match(guide, /\| `generationConfig\.topK` \| ignored \| ignored \| ignored \| ignored \| translated \| sent \|/)
  t.match(guide, /\| `modalities` \| ignored \| ignored \| sent \| refused \| refused \| refused \|/)
})
