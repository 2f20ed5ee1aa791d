// Bounds of a parsed configuration file, and the error of a text that cannot be parsed (bridge.md 3).
import { UnreadableFile } from './unreadable-file.ts'

/** Keys and values after alias expansion. */
export const NODES_MAX = 100_000
/** Lists and maps inside one another, the outermost one included. */
export const DEPTH_MAX = 64

/** The error of a malformed file. It names the line where one is known and repeats no content. */
export function malformed(line?: number): UnreadableFile {
  return new UnreadableFile('is malformed', line === undefined ? undefined : `line ${line}`)
}

/** The line of an offset, counted from 1. */
export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let index = text.indexOf('\n'); index !== -1 && index < offset; index = text.indexOf('\n', index + 1)) line += 1
  return line
}
