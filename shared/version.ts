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

/** Reads the nearest package file in or above a directory, because sources and compiled files are at different depths. */
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
