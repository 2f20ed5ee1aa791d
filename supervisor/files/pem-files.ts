// Reads files in PEM form, and other texts that are read again. What is wrong is said with the name of a setting or of a member of a
// profile, never with a path or a text.
import { statSync } from 'node:fs'
import type { Refuse } from '../../shared/pem.ts'
import { readTextFile } from '../../shared/text-file.ts'

/** Reads a file that every worker reads again: a pipe delivers its text once. */
export function readLastingText(setting: string, file: string | undefined, refuse: Refuse): string | undefined {
  return readText(setting, file, refuse, readRegularText)
}

/** Reads a regular file. Throws for any other one, and where it cannot be read. */
export function readRegularText(path: string): string {
  if (!statSync(path).isFile()) throw new Error('The file is no regular file.')
  return readTextFile(path)
}

/** Reads a file once. Refuses it where that fails, without its path. */
export function readText(
  setting: string,
  file: string | undefined,
  refuse: Refuse,
  read: (path: string) => string = readTextFile
): string | undefined {
  if (file === undefined) return undefined
  try {
    return read(file)
  } catch {
    refuse(setting, 'must name a readable file')
    return undefined
  }
}
