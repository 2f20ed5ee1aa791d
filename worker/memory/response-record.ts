// Makes records of the bytes of a request and of the response to it. Items stay byte for byte what was sent and received (memory.md 2).

import type { ResponseStatus, StoredItem } from '../../shared/memory/store.ts'
import {
  findJsonMember,
  type JsonPart,
  listJsonItems,
  listJsonMembers,
  readJsonText
} from '../protocols/shared/json/json-parts.ts'
import { createItemId } from './new-ids.ts'
import type { MemoryWish } from './read-wish.ts'

/** What a written response holds for its record. */
export interface WrittenParts {
  readonly status: ResponseStatus
  readonly output: readonly StoredItem[]
  /** The response object, its `output` empty. */
  readonly body: Buffer
}

/** The request's own items, each with an id; references are the items that they stand for. */
export function listOwnItems(
  bytes: Buffer,
  { input, members }: MemoryWish,
  references: ReadonlyMap<number, StoredItem | 'in-history'>
): StoredItem[] {
  if (input.kind === 'none') return []
  if (input.kind === 'text') {
    const member = findJsonMember(members, 'input')
    if (member === undefined) return []
    const text = bytes.toString('utf8', member.start, member.end)
    return [{ id: createItemId('message'), json: Buffer.from(writeTextMessage(text)) }]
  }
  return input.items.flatMap((item, index) => {
    const reference = references.get(index)
    if (reference === 'in-history') return []
    if (reference !== undefined) return [reference]
    return [{ id: item.id ?? createItemId(item.type), json: bytes.subarray(item.start, item.end) }]
  })
}

/** @param text JSON of the text. */
function writeTextMessage(text: string): string {
  return `{"type":"message","role":"user","content":[{"type":"input_text","text":${text}}]}`
}

/** Reads a response object; undefined where the bytes hold none. The parts share the memory of the bytes, but for the body. */
export function readWrittenResponse(bytes: Buffer, at = 0): WrittenParts | undefined {
  const members = listJsonMembers(bytes, at)
  if (members === undefined) return undefined
  const output = findJsonMember(members, 'output')
  const items = output === undefined ? [] : (listJsonItems(bytes, output.start) ?? [])
  const status = findJsonMember(members, 'status')
  return {
    status: toStatus(status && readJsonText(bytes, status)),
    output: items.map(part => readOutputItem(bytes, part)),
    body: withoutOutput(bytes, { at, output, end: members.at(-1)?.end })
  }
}

/** An output item with its own id, or one that is given to it. */
export function readOutputItem(bytes: Buffer, part: JsonPart): StoredItem {
  const members = listJsonMembers(bytes, part.start) ?? []
  const readText = (name: string) => {
    const member = findJsonMember(members, name)
    return member === undefined ? undefined : readJsonText(bytes, member)
  }
  return { id: readText('id') || createItemId(readText('type') ?? ''), json: bytes.subarray(part.start, part.end) }
}

function withoutOutput(
  bytes: Buffer,
  { at, output, end }: { at: number; output: JsonPart | undefined; end: number | undefined }
): Buffer {
  const closing = bytes.indexOf('}', end ?? at) + 1
  if (output === undefined) return Buffer.from(bytes.subarray(at, closing))
  return Buffer.concat([bytes.subarray(at, output.start), NO_OUTPUT, bytes.subarray(output.end, closing)])
}

const NO_OUTPUT = Buffer.from('[]')

/** A response that goes to a client has ended: any other word of a provider is its own way to say so. */
function toStatus(word: string | undefined): ResponseStatus {
  return word === 'incomplete' || word === 'failed' || word === 'cancelled' ? word : 'completed'
}
