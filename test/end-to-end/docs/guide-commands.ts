// The commands that the README and the guides show, and which of them no test runs.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..', '..')

/** A block of shell commands in a document. */
export interface CommandBlock {
  /** Such as `ops/guides/keys.md`. */
  readonly document: string
  /** The line of its first command, from 1. */
  readonly line: number
  readonly text: string
}

/** What no test of this project can run, by what it needs. The list stands in the index of guides as well. */
export const NOT_RUN: ReadonlyMap<string, readonly string[]> = new Map([
  ['a container engine', ['docker']],
  ['a cluster', ['kubectl', 'helm']],
  ['an init system', ['systemctl', 'journalctl']],
  ['the internet', ['npm install']],
  ['a coding agent with its own account', ['claude', 'gemini', 'qwen', 'cline']],
  ['minutes of a quiet machine', ['npm run bench', 'npm run compare']]
])

/** The documents that show commands, and their blocks in the order of the page. */
export function readCommandBlocks(): Map<string, CommandBlock[]> {
  const documents = ['README.md', ...globSync('ops/guides/*.md', { cwd: root }).toSorted()]
  const blocks = documents.map(document => [document, blocksOf(document)] as const)
  return new Map(blocks.filter(([, found]) => found.length > 0))
}

function blocksOf(document: string): CommandBlock[] {
  const text = readFileSync(join(root, document), 'utf8')
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(match => ({
    document,
    line: text.slice(0, match.index).split('\n').length + 1,
    text: match[1] ?? ''
  }))
}

/** What a block needs that no test has; undefined for one that is run. */
export function whyNotRun(block: CommandBlock): string | undefined {
  const commands = block.text.split('\n').map(line => line.replace(/^(?:\w+=\S* )+/, ''))
  for (const [reason, programs] of NOT_RUN) {
    if (programs.some(program => commands.some(command => `${command} `.startsWith(`${program} `)))) return reason
  }
  return undefined
}

/** The settings of a block that has nothing but lines of a `.env` file; undefined for other blocks. */
export function settingsOf(block: CommandBlock): Record<string, string> | undefined {
  const lines = block.text.split('\n').filter(line => line !== '')
  const settings = lines.map(line => /^((?:GATEWAY|UPSTREAM)_\w+)=(\S*)(?:\s+#.*)?$/.exec(line))
  if (settings.includes(null)) return undefined
  return Object.fromEntries(settings.map(match => [match?.[1] ?? '', match?.[2] ?? '']))
}
