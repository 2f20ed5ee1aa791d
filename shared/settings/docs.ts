// Writes the reference table of all settings from their rows, so that the documentation cannot differ from the parser.
import type { SettingsSection } from './row.ts'
import { type SettingName, settingNames, settingsTable } from './table.ts'

const START_MARKER = '<!-- settings:start -->'
const END_MARKER = '<!-- settings:end -->'

/** One Markdown table per section, in the order of the rows. */
export function renderSettingsTable(): string {
  const sections = new Map<SettingsSection, SettingName[]>()
  for (const name of settingNames) {
    const { section } = settingsTable[name]
    sections.set(section, [...(sections.get(section) ?? []), name])
  }
  return [...sections].map(([section, names]) => renderSection(section, names)).join('\n\n')
}

/** Puts the table between the markers of a document. Returns undefined when the document has no markers. */
export function replaceSettingsTable(document: string): string | undefined {
  const start = document.indexOf(START_MARKER)
  const end = document.indexOf(END_MARKER)
  if (start === -1 || end < start) return undefined
  return `${document.slice(0, start + START_MARKER.length)}\n\n${renderSettingsTable()}\n\n${document.slice(end)}`
}

function renderSection(section: SettingsSection, names: readonly SettingName[]): string {
  const header = ['| Variable | Type | Default | Meaning |', '|---|---|---|---|']
  return [`#### ${section}`, '', ...header, ...names.map(renderRow)].join('\n')
}

function renderRow(name: SettingName): string {
  const row = settingsTable[name]
  const notes = [row.meaning]
  if (row.aliases.length > 0) notes.push(`Also read from ${row.aliases.map(alias => `\`${alias}\``).join(', ')}.`)
  if (row.isSecret) notes.push(`Secret; \`${name}_FILE\` may name a file that holds it.`)
  const defaultText =
    row.defaultText === undefined
      ? 'unset'
      : isPlainDefault(row.defaultText)
        ? `\`${row.defaultText}\``
        : row.defaultText
  const cells = [`\`${name}\``, row.type.words, defaultText, notes.join(' ')]
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** A computed default is described in words; any other default is shown as code, in the form that a user writes. */
function isPlainDefault(text: string): boolean {
  return !text.includes(' ')
}
