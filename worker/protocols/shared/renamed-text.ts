// Replaces one text in JSON that is passed on, such as the model: in place, so that every other byte stays what its sender wrote.

import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../normalized/index.ts'
import { replaceValue, type ScannedText, scanText } from './raw-json.ts'

/**
 * The bytes with another text at the end of a path of members; the same bytes where they have no text there.
 * @param bytes a JSON object in UTF-8.
 */
export function renameText(bytes: Buffer, path: readonly string[], text: string): Buffer {
  const found = scanText(bytes, path)
  if (isPlain(found)) return found.place === undefined ? bytes : replaceValue(bytes, found.place, text)
  const written = rewrite(bytes.toString('utf8'), path, text)
  return written === undefined ? bytes : Buffer.from(written)
}

/** The same for a whole frame of server-sent events, in its data. A frame without data stays as it is. */
export function renameTextInFrame(frame: Buffer, path: readonly string[], text: string): Buffer {
  const lines = listDataLines(frame)
  const [first] = lines
  if (first === undefined) return frame
  if (lines.length === 1) {
    const found = scanText(frame.subarray(first.start, first.end), path)
    if (isPlain(found)) {
      if (found.place === undefined) return frame
      const { start, end } = found.place
      return replaceValue(frame, { start: first.start + start, end: first.start + end }, text)
    }
  }
  const data = lines.map(({ start, end }) => frame.toString('utf8', start, end)).join('\n')
  const written = rewrite(data, path, text)
  if (written === undefined) return frame
  // The first of the lines holds all of the data now; the lines between and behind are left out.
  const last = lines.at(-1) ?? first
  return Buffer.concat([frame.subarray(0, first.start), Buffer.from(written), frame.subarray(last.end)])
}

/** Every occurrence is known, and there is at most one. */
function isPlain({ count, hasEscapedName }: ScannedText): boolean {
  return count <= 1 && !hasEscapedName
}

/** The JSON written anew; undefined where it has no text to replace. */
function rewrite(json: string, path: readonly string[], text: string): string | undefined {
  const replaced = replaceAt(tryParseJson(json), path, text)
  return replaced === undefined ? undefined : JSON.stringify(replaced)
}

function replaceAt(
  value: JsonValue | undefined,
  [name, ...rest]: readonly string[],
  text: string
): JsonObject | undefined {
  if (!isJsonObject(value) || name === undefined || !Object.hasOwn(value, name)) return undefined
  const member = value[name]
  const replaced = rest.length > 0 ? replaceAt(member, rest, text) : typeof member === 'string' ? text : undefined
  return replaced === undefined ? undefined : { ...value, [name]: replaced }
}

interface Line {
  start: number
  end: number
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const DATA = Buffer.from('data:')

/** The values of the `data` lines of a frame. A value may have blanks around it, which are blanks of the JSON. */
function listDataLines(frame: Buffer): Line[] {
  const lines: Line[] = []
  let start = 0
  let carriageReturn = findByte(frame, CARRIAGE_RETURN, 0)
  while (start < frame.length) {
    if (carriageReturn < start) carriageReturn = findByte(frame, CARRIAGE_RETURN, start)
    const end = Math.min(findByte(frame, LINE_FEED, start), carriageReturn)
    const value = start + DATA.length
    if (value <= end && DATA.compare(frame, start, value) === 0) lines.push({ start: value, end })
    start = end + 1
  }
  return lines
}

function findByte(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from)
  return found < 0 ? bytes.length : found
}
