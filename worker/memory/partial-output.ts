// The output of a response that has not ended, from the events of its stream (memory.md 2 and 4): what a reader of a running response sees,
// and what is left of one that its client, its provider or the gateway has ended.

import { isJsonObject, type JsonObject, type JsonValue } from '../normalized/index.ts'

/** Where an item has its parts. */
type PartList = 'content' | 'summary'

/** The member of an item, or of one of its parts, that grows with each event of a type. */
interface Growth {
  /** Absent where the item itself grows. */
  readonly parts?: PartList
  readonly member: string
}

const GROWTHS: Readonly<Record<string, Growth>> = {
  'response.output_text.delta': { parts: 'content', member: 'text' },
  'response.refusal.delta': { parts: 'content', member: 'refusal' },
  'response.reasoning_text.delta': { parts: 'content', member: 'text' },
  'response.reasoning_summary_text.delta': { parts: 'summary', member: 'text' },
  'response.function_call_arguments.delta': { member: 'arguments' },
  'response.mcp_call_arguments.delta': { member: 'arguments' },
  'response.custom_tool_call_input.delta': { member: 'input' },
  'response.code_interpreter_call_code.delta': { member: 'code' }
}

const PARTS: Readonly<Record<string, PartList>> = {
  'response.content_part.added': 'content',
  'response.content_part.done': 'content',
  'response.reasoning_summary_part.added': 'summary',
  'response.reasoning_summary_part.done': 'summary'
}

/** Collects the items of a stream. Events that it does not know change nothing. */
export class PartialOutput {
  readonly #items = new Map<number, JsonObject>()
  readonly #finished = new Set<number>()

  add(event: JsonObject): void {
    const { type, output_index: index, item } = event
    if (typeof type !== 'string' || typeof index !== 'number') return
    if (type === 'response.output_item.added' || type === 'response.output_item.done') {
      if (isJsonObject(item)) this.#items.set(index, structuredClone(item))
      if (type === 'response.output_item.done') this.#finished.add(index)
      return
    }
    const target = this.#items.get(index)
    if (target !== undefined && !this.#finished.has(index)) grow(target, type, event)
  }

  /** The items so far, in their order. Those that have not ended get this status, where items of their type have one. */
  read(status: 'in_progress' | 'incomplete'): JsonObject[] {
    const items = [...this.#items].sort(([left], [right]) => left - right)
    return items.map(([index, item]) => {
      const isOpen = item.status !== undefined && !this.#finished.has(index)
      return structuredClone(isOpen ? { ...item, status } : item)
    })
  }
}

/** Makes the change of one event in an item. */
function grow(item: JsonObject, type: string, event: JsonObject): void {
  const list = PARTS[type]
  if (list !== undefined) {
    if (isJsonObject(event.part)) setPart(item, list, event)
    return
  }
  if (type === 'response.output_text.annotation.added') {
    const part = findPart(item, 'content', event)
    if (part !== undefined) part.annotations = [...listOf(part.annotations), event.annotation ?? null]
    return
  }
  const growth = GROWTHS[type]
  if (growth === undefined || typeof event.delta !== 'string') return
  const target = growth.parts === undefined ? item : findPart(item, growth.parts, event)
  if (target === undefined) return
  const { [growth.member]: before } = target
  target[growth.member] = (typeof before === 'string' ? before : '') + event.delta
}

function setPart(item: JsonObject, list: PartList, event: JsonObject): void {
  const parts = [...listOf(item[list])]
  const index = readIndex(list, event)
  if (index > parts.length) return
  parts[index] = structuredClone(event.part ?? null)
  item[list] = parts
}

function findPart(item: JsonObject, list: PartList, event: JsonObject): JsonObject | undefined {
  const part = listOf(item[list])[readIndex(list, event)]
  return isJsonObject(part) ? part : undefined
}

function readIndex(list: PartList, event: JsonObject): number {
  const index = list === 'content' ? event.content_index : event.summary_index
  return typeof index === 'number' && index >= 0 ? index : 0
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}
