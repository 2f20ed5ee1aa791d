// Makes of the body of `POST /responses/compact` the body of a response whose input ends with the wish for a summary. It is made in the
// bytes, so that everything else stays as the client wrote it (memory.md 5).

import {
  findJsonMember,
  isJsonWord,
  type JsonMember,
  listJsonItems,
  listJsonMembers
} from '../../shared/json/json-parts.ts'
import { COMPACTION_TRIGGER } from './compaction.ts'

const TRIGGER = Buffer.from(`{"type":"${COMPACTION_TRIGGER}"}`)
const MESSAGE_HEAD = Buffer.from('{"type":"message","role":"user","content":')
/** Written by the gateway alone: a summary is a whole response, and nothing of it is stored. */
const TAKEN_OUT: ReadonlySet<string> = new Set(['input', 'stream', 'store', 'background'])

/** The given bytes where they are no object, or where their input has another type: the reader of the request says what is wrong. */
export function writeCompactBody(bytes: Buffer): Buffer {
  const members = listJsonMembers(bytes)
  if (members === undefined) return bytes
  const input = writeInput(bytes, findJsonMember(members, 'input'))
  if (input === undefined) return bytes
  const pieces: Uint8Array[] = [Buffer.from('{')]
  for (const { name, nameStart, end } of members) {
    if (!TAKEN_OUT.has(name)) pieces.push(bytes.subarray(nameStart, end), COMMA)
  }
  pieces.push(Buffer.from('"store":false,"input":'), ...input, Buffer.from('}'))
  return Buffer.concat(pieces)
}

/** The pieces of the value; undefined for one that is neither a text nor a list. */
function writeInput(bytes: Buffer, input: JsonMember | undefined): Uint8Array[] | undefined {
  if (input === undefined || isJsonWord(bytes, input, 'null')) return [OPENING, TRIGGER, CLOSING]
  const value = bytes.subarray(input.start, input.end)
  if (value[0] === QUOTE) return [OPENING, MESSAGE_HEAD, value, Buffer.from('},'), TRIGGER, CLOSING]
  const items = listJsonItems(bytes, input.start)
  if (items === undefined) return undefined
  const comma = items.length === 0 ? [] : [COMMA]
  return [value.subarray(0, -1), ...comma, TRIGGER, CLOSING]
}

const QUOTE = 0x22
const OPENING = Buffer.from('[')
const CLOSING = Buffer.from(']')
const COMMA = Buffer.from(',')
