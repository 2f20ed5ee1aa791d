// What the package file of this build says: its version, and the Node that it needs.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Not `import.meta.dirname`: this file must load on a Node that is too old for the rest. */
const here = dirname(fileURLToPath(import.meta.url))

/** The version of this build. */
export function readVersion(): string {
  return String(readPackage(here).version)
}

/** The requirement on Node, as `engines` has it. */
export function readRequiredNode(): string {
  const { engines } = readPackage(here)
  return typeof engines === 'object' && engines !== null && 'node' in engines ? String(engines.node) : ''
}

/** Reads the nearest package file at or above a directory: sources and the built form lie at different depths. */
function readPackage(directory: string): { version: unknown; engines?: unknown } {
  const file = join(directory, 'package.json')
  if (existsSync(file)) {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof content === 'object' && content !== null && 'version' in content) return content
  }
  const parent = dirname(directory)
  if (parent === directory) throw new Error('The package file of the gateway is missing.')
  return readPackage(parent)
}
