// Updates the tables of ops/guides/settings.md from the gateway's own table of settings: `node ops/docs/settings-table.ts`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceSettingsTable } from '../../shared/settings/docs.ts'

const guide = join(import.meta.dirname, '../guides/settings.md')
const updated = replaceSettingsTable(readFileSync(guide, 'utf8'))
if (updated === undefined) {
  console.error('settings.md has no <!-- settings:start --> and <!-- settings:end --> markers.')
  process.exitCode = 1
} else {
  writeFileSync(guide, updated)
}
