// Requests that cost more than ordinary ones: large bodies, and bodies full of the smallest items.

import { type Family, type FamilyRequest, writeChat, writeText, writeTurn } from './bodies.ts'

/** Gets an ordinary response. */
const MODEL = 'bench-L0-N1-G0'
const SCHEMA_BYTES = 2048
const TOKEN_IDS_PER_LIST = 8

/** As many messages of one character as the bytes hold. */
export function writeManyMessages(family: Family, bytes: number): FamilyRequest {
  const messages = fill(bytes, index =>
    writeTurn(family, { role: index % 2 === 0 ? 'user' : 'assistant', content: 'a' })
  )
  return writeChat(family, { model: MODEL, isStream: false, messages })
}

/** As many calls, each with its result, as the bytes hold: all calls in one message, and then all results. */
export function writeCallsAndResults(family: Family, bytes: number): FamilyRequest {
  const numbers = fill(bytes, index => writeCall(family, index).concat(writeResult(family, index)))
  const calls = numbers.flatMap((_, index) => writeCall(family, index))
  const results = numbers.flatMap((_, index) => writeResult(family, index))
  const question = writeTurn(family, { role: 'user', content: 'Look it up.' })
  const messages = [question, ...groupCalls(family, calls), ...groupResults(family, results)]
  return writeChat(family, { model: MODEL, isStream: false, messages, members: writeTools(family, ['lookup']) })
}

function writeCall(family: Family, index: number): object[] {
  const id = `call_${index}`
  switch (family) {
    case 'completions':
      return [{ id, type: 'function', function: { name: 'lookup', arguments: '{"a":1}' } }]
    case 'responses':
      return [{ type: 'function_call', call_id: id, name: 'lookup', arguments: '{"a":1}' }]
    case 'messages':
      return [{ type: 'tool_use', id, name: 'lookup', input: { a: 1 } }]
    case 'content':
      return [{ functionCall: { id, name: 'lookup', args: { a: 1 } } }]
  }
}

function writeResult(family: Family, index: number): object[] {
  const id = `call_${index}`
  switch (family) {
    case 'completions':
      return [{ role: 'tool', tool_call_id: id, content: '{"b":2}' }]
    case 'responses':
      return [{ type: 'function_call_output', call_id: id, output: '{"b":2}' }]
    case 'messages':
      return [{ type: 'tool_result', tool_use_id: id, content: '{"b":2}' }]
    case 'content':
      return [{ functionResponse: { id, name: 'lookup', response: { b: 2 } } }]
  }
}

function groupCalls(family: Family, calls: object[]): object[] {
  switch (family) {
    case 'completions':
      return [{ role: 'assistant', content: null, tool_calls: calls }]
    case 'responses':
      return calls
    case 'messages':
      return [{ role: 'assistant', content: calls }]
    case 'content':
      return [{ role: 'model', parts: calls }]
  }
}

function groupResults(family: Family, results: object[]): object[] {
  switch (family) {
    case 'completions':
    case 'responses':
      return results
    case 'messages':
      return [{ role: 'user', content: results }]
    case 'content':
      return [{ role: 'user', parts: results }]
  }
}

/** A question with that many tools, each with a schema of 2 KB. */
export function writeManyTools(family: Family, count: number, isStream: boolean): FamilyRequest {
  const properties: Record<string, object> = {}
  for (let index = 0; JSON.stringify(properties).length < SCHEMA_BYTES; index++) {
    properties[`member_${index}`] = { type: 'string', description: writeText(80) }
  }
  const names = Array.from({ length: count }, (_, index) => `tool_${index}`)
  const members = writeTools(family, names, { type: 'object', properties })
  return writeChat(family, { model: MODEL, isStream, messages: [question(family)], members })
}

/** As many tools without a schema as the bytes hold. */
export function writeSmallTools(family: Family, bytes: number): FamilyRequest {
  const names = fill(bytes, index => writeTools(family, [`t${index}`])).map((_, index) => `t${index}`)
  return writeChat(family, {
    model: MODEL,
    isStream: false,
    messages: [question(family)],
    members: writeTools(family, names)
  })
}

const ANY_OBJECT = { type: 'object' }

function writeTools(family: Family, names: string[], parameters: object = ANY_OBJECT): object {
  switch (family) {
    case 'completions':
      return { tools: names.map(name => ({ type: 'function', function: { name, parameters } })) }
    case 'responses':
      return { tools: names.map(name => ({ type: 'function', name, parameters })) }
    case 'messages':
      return { tools: names.map(name => ({ name, input_schema: parameters })) }
    case 'content':
      return { tools: [{ functionDeclarations: names.map(name => ({ name, parameters })) }] }
  }
}

/** As many members that no family knows as the bytes hold. */
export function writeUnknownMembers(family: Family, bytes: number): FamilyRequest {
  const numbers = fill(bytes, index => ({ [`m${index}`]: 1 }))
  const members = Object.fromEntries(numbers.map((_, index) => [`m${index}`, 1]))
  return writeChat(family, { model: MODEL, isStream: false, messages: [question(family)], members })
}

/** As many stop strings as the bytes hold. The Responses family has none. */
export function writeStopStrings(family: Exclude<Family, 'responses'>, bytes: number): FamilyRequest {
  const stops = fill(bytes, index => [`s${index}`]).flat()
  const members = {
    completions: { stop: stops },
    messages: { stop_sequences: stops },
    content: { generationConfig: { stopSequences: stops } }
  }
  return writeChat(family, { model: MODEL, isStream: false, messages: [question(family)], members: members[family] })
}

/** A token count of that many texts with that many bytes together. */
export function writeCount(family: 'messages' | 'content', texts: number, bytes: number): FamilyRequest {
  const model = `bench-count-${texts}`
  const content = writeText(Math.floor(bytes / texts))
  const turns = Array.from({ length: texts }, (_, index) =>
    writeTurn(family, { role: index % 2 === 0 ? 'user' : 'assistant', content })
  )
  return family === 'messages'
    ? { path: '/v1/messages/count_tokens', body: JSON.stringify({ model, messages: turns }) }
    : { path: `/v1/models/${model}:countTokens`, body: JSON.stringify({ contents: turns }) }
}

/** Embeddings of that many texts, or of that many lists of token ids. */
export function writeEmbeddings(count: number, form: 'float' | 'base64' | 'batch' | 'tokens'): FamilyRequest {
  const model = `bench-vectors-${count}`
  const texts = Array.from({ length: count }, (_, index) => `Text number ${index}`)
  if (form === 'batch') {
    const requests = texts.map(text => ({ content: { parts: [{ text }] } }))
    return { path: `/v1/models/${model}:batchEmbedContents`, body: JSON.stringify({ requests }) }
  }
  const tokens = Array.from({ length: TOKEN_IDS_PER_LIST }, (_, index) => 1000 + index)
  const input = form === 'tokens' ? texts.map(() => tokens) : texts
  const format = form === 'base64' ? 'base64' : 'float'
  return { path: '/v1/embeddings', body: JSON.stringify({ model, input, encoding_format: format }) }
}

/** A small request whose model tells the upstream how large the response shall be. */
export function writeAsking(
  family: Family,
  asked: { form: string; isStream: boolean; apiMode?: 'v1' | 'v2' }
): FamilyRequest {
  const { form, ...shape } = asked
  const members = writeTools(family, ['lookup'])
  return writeChat(family, { ...shape, model: `bench-${form}`, messages: [question(family)], members })
}

function question(family: Family): object {
  return writeTurn(family, { role: 'user', content: 'Look it up.' })
}

/** Makes items until their JSON text reaches the size. */
function fill<Item>(bytes: number, create: (index: number) => Item): Item[] {
  const items: Item[] = []
  for (let left = bytes; left > 0; ) {
    const item = create(items.length)
    left -= JSON.stringify(item).length + 1
    items.push(item)
  }
  return items
}
