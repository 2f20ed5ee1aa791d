// The table of `ops/guides/reliability.md`.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { faultClasses } from './entries.ts'
import type { EntryResult } from './run.ts'

export const PAGE = join(import.meta.dirname, '..', '..', 'ops', 'guides', 'reliability.md')

const START = '<!-- faults:start -->'
const END = '<!-- faults:end -->'

/** The names of the rows that the page has. */
export function readRows(text: string): string[] {
  const [, table = ''] = text.split(START)
  return [...(table.split(END)[0] ?? '').matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(([, name = '']) => name)
}

/** Writes the rows of these results; rows of other entries stay as they are. */
export function writePage(results: readonly EntryResult[]): void {
  const text = readFileSync(PAGE, 'utf8')
  const [before = '', rest = ''] = text.split(START)
  const [table = '', after = ''] = rest.split(END)
  const earlier = new Map([...table.matchAll(/^\| `([a-z0-9-]+)` \|.*$/gm)].map(([row, name = '']) => [name, row]))
  const rows = new Map([...earlier, ...results.map(result => [result.entry.name, writeRow(result)] as const)])
  const sections = faultClasses.map(({ title, entries }) => {
    const lines = entries.flatMap(({ name }) => rows.get(name) ?? [])
    return [`### ${title}`, '', ...HEAD, ...lines, ''].join('\n')
  })
  writeFileSync(PAGE, `${before}${START}\n\n${sections.join('\n')}\n${END}${after}`)
}

const HEAD = [
  '| Entry | What is done | Expected | Seen | Sent | Right | Refused | Lost | Wrong |',
  '|---|---|---|---|---|---|---|---|---|'
]

function writeRow({ entry, skipped, seen, counts }: EntryResult): string {
  const { name, done, expected } = entry
  if (skipped !== undefined) return `| \`${name}\` | ${done} | ${expected} | not run: ${skipped} | - | - | - | - | - |`
  const { sent, right, refused, lost, wrong } = counts
  return `| \`${name}\` | ${done} | ${expected} | ${seen} | ${sent} | ${right} | ${refused} | ${lost} | ${wrong} |`
}
