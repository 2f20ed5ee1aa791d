// Where a configuration file lies.
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** The absolute path of a configuration file, links not followed. */
export function expandPath(text: string): string {
  return resolve(text === '~' || text.startsWith('~/') ? join(homedir(), text.slice(1)) : text)
}
