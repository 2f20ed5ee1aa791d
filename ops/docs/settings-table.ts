// Updates the settings table in README.md from the gateway's own table of settings: `node ops/docs/settings-table.ts`.
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
