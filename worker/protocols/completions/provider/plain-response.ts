// Passes a plain whole response on without parsing it: one choice with a text, and nothing that the gateway would write in another way.
// Every other response takes the general way, `relay.ts`.

import { asBuffer } from '../../../../shared/bytes.ts'
import { type NormalizedUsage, tryParseJson } from '../../../normalized/index.ts'
import type { RelayedBody } from '../../face.ts'
import {
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COLON,
  COMMA,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE
} from '../../shared/json-characters.ts'
import { JsonCursor } from '../../shared/json-cursor.ts'
import { replaceValue } from '../../shared/raw-json.ts'
import { isUsagePlain, readUsage } from './usage.ts'

/** What is found on the way through the bytes. */
interface Found {
  bytes: Buffer
  cursor: JsonCursor
  /** The members so far, one bit for each that must not come twice. */
  members: number
  model: { start: number; end: number } | undefined
  usage: { start: number; end: number } | undefined
}

const ID = 1
const OBJECT = 2
const CREATED = 4
const MODEL = 8
const CHOICES = 16
const USAGE = 32
const INDEX = 64
const MESSAGE = 128
const FINISH_REASON = 256
const ROLE = 512
const CONTENT = 1024

const HEAD = ID | OBJECT | CREATED | MODEL | CHOICES
const CHOICE = INDEX | MESSAGE | FINISH_REASON
const TEXT = ROLE | CONTENT

/** The response with the model renamed, and its usage; undefined for one that is not plain. */
export function relayPlainResponse(bytes: Uint8Array, publicModel: string): RelayedBody | undefined {
  const buffer = asBuffer(bytes)
  const found: Found = { bytes: buffer, cursor: new JsonCursor(buffer), members: 0, model: undefined, usage: undefined }
  if (!passObject(found, passTopMember) || !found.cursor.isAtEnd()) return undefined
  const { model, members } = found
  if ((members & HEAD) !== HEAD || model === undefined || occursTwice(buffer, model)) return undefined
  const usage = readUsageAt(found)
  if (usage === undefined) return undefined
  const renamed = isModel(buffer, model, publicModel) ? buffer : replaceValue(buffer, model, publicModel)
  return { events: usage === null ? [] : [{ type: 'usage', usage }], bytes: renamed }
}

/** Passes an object; `passMember` stands behind the name of a member, which the cursor knows. */
function passObject(found: Found, passMember: (found: Found) => boolean): boolean {
  const { cursor } = found
  if (!cursor.take(OPENING_BRACE)) return false
  do if (!cursor.takeText() || cursor.isEscaped || !passMember(found)) return false
  while (cursor.take(COMMA))
  return cursor.take(CLOSING_BRACE)
}

function passTopMember(found: Found): boolean {
  const { cursor } = found
  if (cursor.isText('choices')) return takeMember(found, CHOICES) && passChoices(found)
  if (cursor.isText('id')) return takeMember(found, ID) && takePlainText(cursor)
  if (cursor.isText('created')) return takeMember(found, CREATED) && cursor.takeNumber()
  if (cursor.isText('object')) {
    return takeMember(found, OBJECT) && takePlainText(cursor) && cursor.isText('chat.completion')
  }
  if (cursor.isText('model')) {
    if (!takeMember(found, MODEL) || !takePlainText(cursor)) return false
    found.model = { start: cursor.start - 1, end: cursor.end + 1 }
    return true
  }
  if (cursor.isText('usage')) return takeMember(found, USAGE) && passUsage(found)
  // The provider's error, and texts of servers that report one with status 200.
  if (cursor.isText('error') || cursor.isText('message')) return cursor.take(COLON) && cursor.takeWord('null')
  return cursor.take(COLON) && passScalar(cursor)
}

function passChoices(found: Found): boolean {
  const { cursor } = found
  if (!cursor.take(OPENING_BRACKET) || !passObject(found, passChoiceMember)) return false
  return (found.members & CHOICE) === CHOICE && cursor.take(CLOSING_BRACKET)
}

function passChoiceMember(found: Found): boolean {
  const { cursor } = found
  if (cursor.isText('index')) return takeMember(found, INDEX) && cursor.takeNumber() && cursor.isText('0')
  if (cursor.isText('finish_reason')) {
    return takeMember(found, FINISH_REASON) && takePlainText(cursor) && isPlainReason(cursor)
  }
  if (cursor.isText('message')) {
    return takeMember(found, MESSAGE) && passObject(found, passMessageMember) && (found.members & TEXT) === TEXT
  }
  return cursor.take(COLON) && passScalar(cursor)
}

function passMessageMember(found: Found): boolean {
  const { bytes, cursor } = found
  if (cursor.isText('role')) return takeMember(found, ROLE) && takePlainText(cursor) && cursor.isText('assistant')
  if (cursor.isText('content')) {
    if (!takeMember(found, CONTENT) || cursor.peek() !== QUOTE || !cursor.takeText()) return false
    return cursor.end === cursor.start || isTextStart(bytes[cursor.start] as number)
  }
  const isList = LISTS.some(name => cursor.isText(name))
  if (!isList && !NULLS.some(name => cursor.isText(name))) return false
  if (!cursor.take(COLON)) return false
  return cursor.takeWord('null') || (isList && cursor.take(OPENING_BRACKET) && cursor.take(CLOSING_BRACKET))
}

/** Members that are plain only where they are null or a list without entries. */
const LISTS = ['annotations', 'tool_calls']

/** Members that are plain only where they are null: the general way refuses a list in some of them. */
const NULLS = ['refusal', 'function_call', 'audio', 'reasoning_content']

/** Reasons that stand beside a text; others belong to calls or are no reasons of the wire. */
function isPlainReason(cursor: JsonCursor): boolean {
  return cursor.isText('stop') || cursor.isText('length') || cursor.isText('content_filter')
}

/** Reasoning may begin a text with a tag, behind blanks of any kind or an escape: only the beginnings of ordinary texts are known here. */
function isTextStart(code: number): boolean {
  return isLetterOrDigit(code) || (code >= 0xc3 && code <= 0xdf) || (code >= 0xe4 && code <= 0xee) || code === 0xf0
}

function isLetterOrDigit(code: number): boolean {
  const lower = code | 0x20
  return (code >= 0x30 && code <= 0x39) || (lower >= 0x61 && lower <= 0x7a)
}

/** Counts the member and passes the colon; false for one that was there before. */
function takeMember(found: Found, member: number): boolean {
  if ((found.members & member) !== 0) return false
  found.members |= member
  return found.cursor.take(COLON)
}

/** Passes a text without escapes, so that its bytes are its value. */
function takePlainText(cursor: JsonCursor): boolean {
  return cursor.takeText() && !cursor.isEscaped
}

/** Passes a value that is no object and no list; a text has no escapes, so that it cannot hide the name of the model. */
function passScalar(cursor: JsonCursor): boolean {
  if (cursor.peek() === QUOTE) return takePlainText(cursor)
  return cursor.takeWord('null') || cursor.takeWord('false') || cursor.takeWord('true') || cursor.takeNumber()
}

/** Passes an object of numbers that may have objects of numbers in it. */
function passUsage(found: Found): boolean {
  const { cursor } = found
  if (cursor.takeWord('null')) return true
  cursor.peek()
  const start = cursor.at
  if (!passObject(found, passCounts)) return false
  found.usage = { start, end: cursor.at }
  return true
}

function passCounts(found: Found): boolean {
  const { cursor } = found
  if (!cursor.take(COLON)) return false
  return cursor.peek() === OPENING_BRACE ? passObject(found, passCount) : passScalar(cursor)
}

function passCount({ cursor }: Found): boolean {
  return cursor.take(COLON) && passScalar(cursor)
}

/** null without usage; undefined for one that the general way refuses or corrects. */
function readUsageAt({ bytes, usage }: Found): NormalizedUsage | null | undefined {
  if (usage === undefined) return null
  try {
    const raw = tryParseJson(bytes.toString('latin1', usage.start, usage.end))
    const counts = readUsage(raw)
    return isUsagePlain(raw, counts) ? counts : undefined
  } catch {
    return undefined
  }
}

/** Whether the bytes have the text of this value a second time, so that another member may name the model of the provider. */
function occursTwice(bytes: Buffer, { start, end }: { start: number; end: number }): boolean {
  const text = bytes.subarray(start + 1, end - 1)
  return bytes.indexOf(text) !== start + 1 || bytes.indexOf(text, end) >= 0
}

function isModel(bytes: Buffer, { start, end }: { start: number; end: number }, model: string): boolean {
  return bytes.toString('utf8', start + 1, end - 1) === model
}
