// The version of this build, from the package file that it belongs to.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Reads the version of the nearest package file at or above a directory: sources and the built form lie at different depths. */
export function readVersion(directory: string = import.meta.dirname): string {
  const file = join(directory, 'package.json')
  if (existsSync(file)) {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof content === 'object' && content !== null && 'version' in content) return String(content.version)
  }
  const parent = dirname(directory)
  if (parent === directory) throw new Error('The package file of the gateway is missing.')
  return readVersion(parent)
}
