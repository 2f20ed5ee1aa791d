// Updates the tables of ops/guides/members.md from the tables of members of the client protocols:
// `node ops/docs/members-table.ts`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceMemberTables } from './write-members.ts'

const guide = join(import.meta.dirname, '../guides/members.md')
const updated = replaceMemberTables(readFileSync(guide, 'utf8'))
if (updated === undefined) {
  console.error('members.md has no <!-- members:start --> and <!-- members:end --> markers.')
  process.exitCode = 1
} else {
  writeFileSync(guide, updated)
}
