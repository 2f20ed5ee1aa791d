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

/**
 * The programs of the guides that no test of this project can run, by what they need. In a run of a page they do nothing, and the rest of
 * their block is run. The list stands in the index of guides as well.
 */
export const NOT_RUN: ReadonlyMap<string, readonly string[]> = new Map([
  ['a container engine', ['docker']],
  ['a cluster', ['kubectl', 'helm']],
  ['an init system', ['systemctl']],
  // `package.long.test.ts` installs the tarball without it. The coding agents are installed from it as well.
  ['the internet', ['npm install', 'claude', 'gemini', 'qwen', 'cline']]
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

/** A command of a block, and what it needs that no test has. */
export interface Command {
  readonly line: number
  readonly text: string
  readonly needs: string | undefined
}

/** The commands of a block; a comment and a line of a document within are none. */
export function listCommands({ line, text }: CommandBlock): Command[] {
  const lines = text.replaceAll('\\\n', ' ').split('\n')
  const commands = lines.flatMap(one => one.split('&&')).map(one => one.trim().replace(/^(?:\w+=\S* )+/, ''))
  return commands
    .filter(command => /^[a-z]/.test(command))
    .map(command => {
      const isOf = ([, programs]: [string, readonly string[]]) =>
        programs.some(program => `${command} `.startsWith(`${program} `))
      return { line, text: command, needs: [...NOT_RUN].find(isOf)?.[0] }
    })
}

/** The settings of a block that has nothing but lines of a `.env` file; undefined for other blocks. */
export function settingsOf(block: CommandBlock): Record<string, string> | undefined {
  const lines = block.text.split('\n').filter(line => line !== '')
  const settings = lines.map(line => /^((?:GATEWAY|UPSTREAM)_\w+)=(\S*)(?:\s+#.*)?$/.exec(line))
  if (settings.includes(null)) return undefined
  return Object.fromEntries(settings.map(match => [match?.[1] ?? '', match?.[2] ?? '']))
}
