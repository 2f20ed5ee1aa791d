// Stored items as the operations of the Responses API show them (memory.md 4). The store keeps what the client wrote; SDKs expect whole
// items: with an id, a type, a status, and the parts of a message as a list.

import { asBuffer } from '../../shared/bytes.ts'
import type { StoredItem } from '../../shared/memory/store.ts'
import { JsonEdits } from '../protocols/shared/json/edits.ts'
import {
  findJsonMember,
  isJsonWord,
  type JsonMember,
  listJsonMembers,
  readJsonText
} from '../protocols/shared/json/json-parts.ts'
import { editJson } from '../protocols/shared/json/spans.ts'

/** Types whose items always have a status in the public API. */
const TYPES_WITH_STATUS: ReadonlySet<string> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output'
])

/** The JSON of an item with its id. */
export function writeItem({ id, json }: StoredItem): Buffer {
  const bytes = asBuffer(json)
  const members = listJsonMembers(bytes) ?? []
  return hasValue(bytes, members, 'id') ? bytes : edit(bytes, edits => edits.set(['id'], id))
}

/** The JSON of an item as lists and retrievals show it. What the client wrote at length stays byte for byte. */
export function writeShownItem({ id, json }: StoredItem): Buffer {
  const bytes = asBuffer(json)
  const members = listJsonMembers(bytes) ?? []
  const lacks = (name: string): boolean => !hasValue(bytes, members, name)
  const type = readMember(bytes, members, 'type') ?? (lacks('role') && lacks('content') ? undefined : 'message')
  return edit(bytes, edits => {
    if (lacks('id')) edits.set(['id'], id)
    if (type === undefined) return
    if (lacks('type')) edits.set(['type'], type)
    if (TYPES_WITH_STATUS.has(type) && lacks('status')) edits.set(['status'], 'completed')
    const text = type === 'message' ? readMember(bytes, members, 'content') : undefined
    if (text === undefined) return
    const isOfModel = readMember(bytes, members, 'role') === 'assistant'
    const part = isOfModel ? { type: 'output_text', text, annotations: [], logprobs: [] } : { type: 'input_text', text }
    edits.set(['content'], [part])
  })
}

/** An absent member and null mean the same. */
function hasValue(bytes: Buffer, members: readonly JsonMember[], name: string): boolean {
  const member = findJsonMember(members, name)
  return member !== undefined && !isJsonWord(bytes, member, 'null')
}

function readMember(bytes: Buffer, members: readonly JsonMember[], name: string): string | undefined {
  const member = findJsonMember(members, name)
  return member === undefined ? undefined : readJsonText(bytes, member)
}

function edit(bytes: Buffer, collect: (edits: JsonEdits) => void): Buffer {
  const edits = new JsonEdits()
  collect(edits)
  return edits.isEmpty ? bytes : editJson(bytes, edits).edited
}
