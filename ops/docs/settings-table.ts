// Rewrites the settings table in the README from the rows that the gateway parses: `node ops/docs/settings-table.ts`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceSettingsTable } from '../../shared/settings/docs.ts'

const readme = join(import.meta.dirname, '../../README.md')
const updated = replaceSettingsTable(readFileSync(readme, 'utf8'))
if (updated === undefined) {
  console.error('README.md has no <!-- settings:start --> and <!-- settings:end --> markers.')
  process.exitCode = 1
} else {
  writeFileSync(readme, updated)
}
