// Reads the package file of this build: its version, and the Node version that it requires.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Not `import.meta.dirname`: this file must also load on a Node version that is too old for the gateway. */
const here = dirname(fileURLToPath(import.meta.url))

/** The version of this build. */
export function readVersion(): string {
  return String(readPackage(here).version)
}

/** The required Node versions, from `engines` in the package file; an empty text when there are none. */
export function readRequiredNode(): string {
  const { engines } = readPackage(here)
  return typeof engines === 'object' && engines !== null && 'node' in engines ? String(engines.node) : ''
}

/** The commit of this build: as npm writes it into a published package, else that of the checkout; undefined when neither says. */
export function readCommit(): string | undefined {
  const { gitHead } = readPackage(here)
  return typeof gitHead === 'string' ? gitHead : readCheckedOutCommit(join(findPackage(here), '.git'))
}

/**
 * Reads the files of the repository, because git may not be installed. A linked work tree, whose
 * `.git` is a file, is not supported.
 */
function readCheckedOutCommit(repository: string): string | undefined {
  const head = readText(join(repository, 'HEAD'))
  const branch = /^ref: (\S+)/.exec(head)?.[1]
  const text = branch === undefined ? head : readText(join(repository, branch)) || findPacked(repository, branch)
  return /^[0-9a-f]{40,64}$/.exec(text.trim())?.[0]
}

function findPacked(repository: string, branch: string): string {
  const lines = readText(join(repository, 'packed-refs')).split('\n')
  return lines.find(line => line.endsWith(` ${branch}`))?.split(' ')[0] ?? ''
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

type Package = Readonly<Record<'version' | 'engines' | 'gitHead', unknown>>

function readPackage(directory: string): Partial<Package> {
  return JSON.parse(readFileSync(join(findPackage(directory), 'package.json'), 'utf8'))
}

/** Finds the nearest package in or above a directory, because sources and compiled files are at different depths. */
function findPackage(directory: string): string {
  const file = join(directory, 'package.json')
  if (existsSync(file)) {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof content === 'object' && content !== null && 'version' in content) return directory
  }
  const parent = dirname(directory)
  if (parent === directory) throw new Error('The package file of the gateway is missing.')
  return findPackage(parent)
}
