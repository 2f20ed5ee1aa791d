// Parts of a message or a result whose type the reader does not know: those of earlier turns are left out, those of the newest turn of the
// user are refused (decisions.md 75).

import type { ContentPart, Diagnostics, JsonValue } from '../../../normalized/index.ts'

export interface PartReader {
  isKnown(part: JsonValue): boolean
  /** Raises `invalid_request` for a part of an unknown type. */
  read(part: JsonValue, path: string): ContentPart
}

/**
 * Reads the parts at `path`.
 * @param ignored gets the type of each part that is left out under its path; undefined where the model has to read all of them.
 */
export function readParts(
  parts: readonly JsonValue[],
  { path, ignored }: { path: string; ignored: Diagnostics | undefined },
  { isKnown, read }: PartReader
): ContentPart[] {
  return parts.flatMap((part, index) => {
    const at = `${path}[${index}]`
    if (ignored === undefined || isKnown(part)) return [read(part, at)]
    ignored[`${at}.type`] = typeof part === 'object' && part !== null && 'type' in part ? (part.type ?? null) : null
    return []
  })
}

/** The paths of the parts that were left out of messages. */
export function listLeftOutParts(ignored: Diagnostics): string[] {
  return Object.keys(ignored).filter(path => PART_PATH.test(path))
}

const PART_PATH = /^(?:messages|input)\[\d+\]\.(?:content|output)\[\d+\]\.type$/
