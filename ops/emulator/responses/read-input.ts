// Reads and checks the input items of the Responses wire.
import type { ChatTurn } from '../chat-request.ts'
import { asJson, isObject, type JsonValue } from '../json.ts'
import { MemberError, missingMember, unknownMember, wrongType, wrongValue } from './errors.ts'
import { decryptReasoning, isEncryptedReasoning } from './reasoning.ts'

type Item = Record<string, unknown>

/** The members of each type of item that is read. Items of other known types are taken as they are. */
const itemMembers: Readonly<Record<string, readonly string[]>> = {
  message: ['type', 'id', 'role', 'content', 'status', 'phase'],
  function_call: ['type', 'id', 'call_id', 'name', 'namespace', 'arguments', 'status', 'caller'],
  function_call_output: ['type', 'id', 'call_id', 'output', 'status', 'caller'],
  custom_tool_call: ['type', 'id', 'call_id', 'name', 'namespace', 'input', 'status', 'caller'],
  custom_tool_call_output: ['type', 'id', 'call_id', 'output', 'status', 'caller'],
  reasoning: ['type', 'id', 'summary', 'content', 'encrypted_content', 'status'],
  item_reference: ['type', 'id'],
  compaction: ['type', 'id', 'encrypted_content', 'created_by'],
  compaction_trigger: ['type']
}

/** Items of tools that the service runs, and of its own bookkeeping. */
const otherItems: ReadonlySet<unknown> = new Set([
  'additional_tools',
  'apply_patch_call',
  'apply_patch_call_output',
  'code_interpreter_call',
  'computer_call',
  'computer_call_output',
  'file_search_call',
  'image_generation_call',
  'local_shell_call',
  'local_shell_call_output',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'mcp_list_tools',
  'shell_call',
  'shell_call_output',
  'tool_search_call',
  'tool_search_output',
  'web_search_call'
])

const partMembers: Readonly<Record<string, readonly string[]>> = {
  input_text: ['type', 'text', 'prompt_cache_breakpoint'],
  input_image: ['type', 'image_url', 'file_id', 'detail', 'prompt_cache_breakpoint'],
  input_file: ['type', 'file_data', 'file_id', 'file_url', 'filename', 'detail', 'prompt_cache_breakpoint'],
  output_text: ['type', 'text', 'annotations', 'logprobs'],
  refusal: ['type', 'refusal']
}
const INPUT_PARTS = ['input_text', 'input_image', 'input_file']
const OUTPUT_PARTS = ['output_text', 'refusal']
const ROLES = ['user', 'assistant', 'system', 'developer']
const TOOL_NAME = /^[a-zA-Z0-9_-]+$/
const NAME_LENGTH_MAX = 64
const CALL_ID_LENGTH_MAX = 64
const IMAGE_DETAILS = ['low', 'high', 'auto', 'original']

export interface ReadInput {
  turns: ChatTurn[]
  items: readonly unknown[]
  /** Whether the conversation is to be replaced by one item. */
  compacts: boolean
}

/**
 * Reads `input`, a text or a list of items, behind those of an earlier response.
 * @throws MemberError for what the service refuses.
 */
export function readInput(input: unknown, earlier: readonly unknown[]): ReadInput {
  const given: readonly unknown[] = typeof input === 'string' ? [{ role: 'user', content: input }] : toList(input)
  const callNames = new Map<string, string>()
  for (const item of earlier) noteCall(item, callNames)
  const turns = given.flatMap((item, index) => readItem(item, `input[${index}]`, callNames))
  checkCalls([...earlier, ...given])
  checkReasoning(given)
  const triggers = given.flatMap((item, index) => (isObject(item) && item.type === 'compaction_trigger' ? [index] : []))
  const misplaced = triggers.find(index => index !== given.length - 1)
  if (misplaced !== undefined) throw wrongValue(`input[${misplaced}].type`, 'A compaction trigger is the last item.')
  return { turns, items: [...earlier, ...given], compacts: triggers.length > 0 }
}

function toList(input: unknown): readonly unknown[] {
  if (input === undefined) throw missingMember('input')
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array')
  return input
}

function noteCall(item: unknown, callNames: Map<string, string>): void {
  if (isObject(item) && typeof item.call_id === 'string' && typeof item.name === 'string')
    callNames.set(item.call_id, item.name)
}

function readItem(item: unknown, at: string, callNames: Map<string, string>): ChatTurn[] {
  if (!isObject(item)) throw wrongType(at, 'an object')
  const type = item.type ?? ('role' in item ? 'message' : undefined)
  if (typeof type !== 'string') throw missingMember(`${at}.type`)
  const members = Object.hasOwn(itemMembers, type) ? itemMembers[type] : undefined
  if (members === undefined) {
    if (otherItems.has(type)) return []
    throw wrongValue(`${at}.type`, `Invalid value: '${type}'.`)
  }
  checkMembers(item, members, at)
  switch (type) {
    case 'message':
      return [readMessage(item, at)]
    case 'function_call':
    case 'custom_tool_call':
      checkCall(item, at, type === 'function_call' ? 'arguments' : 'input')
      noteCall(item, callNames)
      // A turn of its own between two groups of results.
      return [{ role: 'assistant', text: '', results: [], fileCount: 0 }]
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [readOutput(item, at, callNames)]
    case 'reasoning':
      checkReasoningItem(item, at)
      return []
    case 'compaction':
      return readCompaction(item, at)
    case 'compaction_trigger':
      return []
    default:
      throw new MemberError(`Item with id '${String(item.id)}' not found.`, { param: at, status: 404 })
  }
}

/** What stands for a conversation. One that was recorded at the service is taken as it is. */
function readCompaction({ encrypted_content: content }: Item, at: string): ChatTurn[] {
  if (typeof content !== 'string') throw missingMember(`${at}.encrypted_content`)
  if (!isEncryptedReasoning(content)) return []
  return [{ role: 'user', text: decryptReasoning(content), results: [], fileCount: 0 }]
}

export function checkMembers(object: Item, members: readonly string[], at: string): void {
  const unknown = Object.keys(object).find(name => !members.includes(name))
  if (unknown !== undefined) throw unknownMember(at === '' ? unknown : `${at}.${unknown}`)
}

function readMessage({ role, content }: Item, at: string): ChatTurn {
  if (typeof role !== 'string' || !ROLES.includes(role)) throw wrongValue(`${at}.role`)
  const { text, fileCount } = readContent(content, `${at}.content`, role === 'assistant' ? OUTPUT_PARTS : INPUT_PARTS)
  return { role: role === 'user' || role === 'assistant' ? role : 'system', text, results: [], fileCount }
}

function readContent(content: unknown, at: string, types: readonly string[]): { text: string; fileCount: number } {
  if (typeof content === 'string') return { text: content, fileCount: 0 }
  if (content === undefined) throw missingMember(at)
  if (!Array.isArray(content)) throw wrongType(at, 'a string or an array')
  const texts: string[] = []
  let fileCount = 0
  for (const [index, part] of content.entries()) {
    const here = `${at}[${index}]`
    if (!isObject(part)) throw wrongType(here, 'an object')
    const { type } = part
    if (typeof type !== 'string' || !types.includes(type)) {
      const supported = types.map(name => `'${name}'`).join(' and ')
      throw wrongValue(`${here}.type`, `Invalid value: '${String(type)}'. Supported values are: ${supported}.`)
    }
    checkMembers(part, partMembers[type] ?? [], here)
    if (type === 'input_text' || type === 'output_text') texts.push(readText(part, 'text', here))
    else if (type === 'refusal') texts.push(readText(part, 'refusal', here))
    else {
      checkMedia(part, here)
      fileCount++
    }
  }
  return { text: texts.join('\n'), fileCount }
}

function readText(part: Item, name: string, at: string): string {
  const text = part[name]
  if (text === undefined) throw missingMember(`${at}.${name}`)
  if (typeof text !== 'string') throw wrongType(`${at}.${name}`, 'a string')
  return text
}

const DATA_URL = /^data:[a-z0-9.+-]+\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+$/i
const WEB_URL = /^https?:\/\//

function checkMedia(part: Item, at: string): void {
  if (part.type === 'input_image') {
    const { image_url: url, file_id: id, detail } = part
    if (typeof url !== 'string' && typeof id !== 'string') throw missingMember(`${at}.image_url`)
    if (typeof url === 'string' && !DATA_URL.test(url) && !WEB_URL.test(url)) throw wrongValue(`${at}.image_url`)
    if (detail !== undefined && detail !== null && !IMAGE_DETAILS.includes(String(detail))) {
      throw wrongValue(`${at}.detail`)
    }
    return
  }
  const { file_data: data, file_id: id, file_url: url, filename } = part
  if (typeof data !== 'string' && typeof id !== 'string' && typeof url !== 'string')
    throw missingMember(`${at}.file_data`)
  if (typeof data !== 'string') return
  if (typeof filename !== 'string') throw missingMember(`${at}.filename`)
  if (!DATA_URL.test(data)) throw wrongValue(`${at}.file_data`)
}

function checkCall(item: Item, at: string, member: 'arguments' | 'input'): void {
  const { call_id: id, name } = item
  if (typeof id !== 'string' || id === '') throw missingMember(`${at}.call_id`)
  if (id.length > CALL_ID_LENGTH_MAX) throw wrongValue(`${at}.call_id`, `Invalid '${at}.call_id': string too long.`)
  if (typeof name !== 'string' || name === '') throw missingMember(`${at}.name`)
  if (!TOOL_NAME.test(name)) throw wrongValue(`${at}.name`, `Invalid '${at}.name': string does not match pattern.`)
  if (name.length > NAME_LENGTH_MAX) throw wrongValue(`${at}.name`, `Invalid '${at}.name': string too long.`)
  readText(item, member, at)
}

function readOutput(item: Item, at: string, callNames: ReadonlyMap<string, string>): ChatTurn {
  const { call_id: id, output } = item
  if (typeof id !== 'string' || id === '') throw missingMember(`${at}.call_id`)
  const name = callNames.get(id)
  if (name === undefined) throw new MemberError(`No tool call found for function call output with call_id ${id}.`)
  const { text, fileCount } = readContent(output, `${at}.output`, INPUT_PARTS)
  return { role: 'result', text, results: [{ name, value: parseOrKeep(text) }], fileCount }
}

function parseOrKeep(text: string): JsonValue {
  try {
    return asJson(JSON.parse(text))
  } catch {
    return text
  }
}

function checkReasoningItem({ id, summary, encrypted_content: content }: Item, at: string): void {
  if (id !== undefined && (typeof id !== 'string' || !id.startsWith('rs_'))) throw wrongValue(`${at}.id`)
  if (!Array.isArray(summary)) throw missingMember(`${at}.summary`)
  if (typeof content !== 'string') {
    const message = `Item with id '${String(id)}' not found. Items are not persisted when \`store\` is set to false.`
    throw new MemberError(message, { param: at, status: 404 })
  }
  if (!isEncryptedReasoning(content)) {
    const message = `The encrypted content for item ${String(id)} could not be verified.`
    throw new MemberError(message, { code: 'invalid_encrypted_content' })
  }
}

/** Every call has its result, and every result a call before it. */
function checkCalls(items: readonly unknown[]): void {
  const open = new Set<string>()
  for (const item of items) {
    if (!isObject(item) || typeof item.call_id !== 'string') continue
    if (item.type === 'function_call' || item.type === 'custom_tool_call') open.add(item.call_id)
    else open.delete(item.call_id)
  }
  const [first] = open
  if (first !== undefined) throw new MemberError(`No tool output found for function call ${first}.`, { param: 'input' })
}

/** Reasoning stands before what it led to. */
function checkReasoning(items: readonly unknown[]): void {
  for (const [index, item] of items.entries()) {
    if (!isObject(item) || item.type !== 'reasoning') continue
    const next = items.slice(index + 1).find(one => isObject(one) && one.type !== 'reasoning')
    const follows = isObject(next) && (next.role === 'assistant' || String(next.type).endsWith('_call'))
    if (!follows) {
      const message = `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`
      throw new MemberError(message, { param: 'input' })
    }
  }
}
