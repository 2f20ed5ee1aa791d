// Compares both faces with recorded exchanges of the real upstream: the readers must read the recorded responses, and the writers
// must give the members and types of the recorded requests.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  accumulateEvents,
  isJsonObject,
  type JsonObject,
  type NormalizedMessage,
  type NormalizedRequest,
  type NormalizedTool,
  type ToolChoice,
  writeToolCallId
} from '../../../../worker/normalized/index.ts'
import { nativeV1Face } from '../../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../../worker/protocols/native/v2/face.ts'
import { checkGrammar } from '../../normalized/grammar.ts'
import { makeRequest, openReader, plainOptions, readStream } from './support.ts'

interface Exchange {
  request: { method: string; path: string; body: JsonObject }
  response: { status: number; body: JsonObject | string }
}

const folder = join(import.meta.dirname, '../../../fixtures/recorded')
const chats = readdirSync(folder)
  .filter(file => file.endsWith('.json'))
  .flatMap(file => {
    const exchanges = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Exchange[]
    return exchanges
      .filter(exchange => exchange.request.path.endsWith('/chat/completions'))
      .map((exchange, index) => ({
        name: `${file} ${index}`,
        exchange,
        isV2: exchange.request.path.includes('/v2/')
      }))
  })

t.test('recorded responses are read', async t => {
  t.ok(chats.length > 0)
  for (const { name, exchange, isV2 } of chats) {
    const create = isV2 ? nativeV2Face : nativeV1Face
    const { body, status } = exchange.response
    if (status !== 200) {
      const read = () => openReader(create).readBody(Buffer.from(JSON.stringify(body)))
      t.throws(read, { code: 'model_not_found', status: 404 }, name)
      continue
    }
    const events =
      typeof body === 'string'
        ? readStream(create, [Buffer.from(body)])
        : openReader(create).readBody(Buffer.from(JSON.stringify(body)))
    t.same(checkGrammar(events), [], name)
    const response = accumulateEvents(events)
    const usage = response.usage
    t.ok(response.providerModel?.startsWith(String(exchange.request.body.model)), name)
    t.equal(usage?.totalTokens, (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0), name)
    t.type(usage?.cacheReadTokens, 'number', name)
    t.ok(response.items.length > 0, name)
    t.notMatch(JSON.stringify(response.items), /\[sources=/, name)
  }
})

t.test('written requests have the members and types of the recorded ones', async t => {
  for (const { name, exchange, isV2 } of chats) {
    const request = readRecorded(exchange.request.body, isV2)
    const writeRequest = isV2 ? nativeV2Face.writeChat : nativeV1Face.writeChat
    const { body } = writeRequest(request, { upstreamModel: request.model }, plainOptions)
    const recorded = { ...exchange.request.body }
    // The writer leaves out the upstream's default mode.
    if (isJsonObject(recorded.tool_config) && recorded.tool_config.mode === 'auto') delete recorded.tool_config
    sameShape(t, body, recorded, name)
    t.same(body, recorded, name)
  }
})

/** The normalized request for a recorded body. */
function readRecorded(body: JsonObject, isV2: boolean): NormalizedRequest {
  const options = isJsonObject(body.model_options) ? body.model_options : {}
  const format = isV2 ? options.response_format : body.response_format
  const config = isJsonObject(body.tool_config) ? body.tool_config : {}
  const choice: ToolChoice | undefined =
    typeof config.function_name === 'string'
      ? { type: 'function', name: config.function_name }
      : typeof config.tool_name === 'string'
        ? { type: 'hosted', kind: config.tool_name as 'web_search' }
        : undefined
  const isSchema = isJsonObject(format) && format.type === 'json_schema'
  return makeRequest({
    model: String(body.model),
    isStream: body.stream === true,
    messages: (body.messages as JsonObject[]).map(readMessage),
    tools: Array.isArray(body.tools) ? body.tools.flatMap(entry => readTool(entry as JsonObject)) : [],
    ...(choice === undefined ? {} : { toolChoice: choice }),
    ...(isSchema
      ? { output: { type: 'json-schema', schema: format.schema as JsonObject, strict: format.strict === true } }
      : {}),
    ...(isJsonObject(format) && !isSchema ? { additionalFields: { response_format: format } } : {})
  })
}

function readMessage(message: JsonObject): NormalizedMessage {
  if (typeof message.content === 'string') return { role: 'user', content: [{ type: 'text', text: message.content }] }
  const stateId = message.tools_state_id
  const id =
    typeof stateId === 'string' ? writeToolCallId({ stateId, name: undefined, callNumber: 0, nonce: '' }) : null
  const content = (message.content as JsonObject[]).map(part => {
    if (isJsonObject(part.function_call)) {
      const { name, arguments: given } = part.function_call
      return { type: 'tool-call' as const, id, name: String(name), arguments: given as JsonObject }
    }
    if (isJsonObject(part.function_result)) {
      const text = JSON.stringify(part.function_result.result)
      return {
        type: 'tool-result' as const,
        callId: id,
        content: [{ type: 'text' as const, text }],
        isError: false,
        path: 'p'
      }
    }
    return { type: 'text' as const, text: String(part.text) }
  })
  return { role: message.role as NormalizedMessage['role'], content }
}

function readTool(entry: JsonObject): NormalizedTool[] {
  return Object.entries(entry).flatMap(([kind, config]): NormalizedTool[] => {
    if (kind !== 'functions') {
      return [{ type: 'hosted', kind: kind as 'web_search', sentType: kind, config: config as JsonObject }]
    }
    const { specifications } = config as { specifications: JsonObject[] }
    return specifications.map(({ name, description, parameters, return_parameters: returnParameters }) => ({
      type: 'function',
      name: String(name),
      description: String(description),
      parameters: parameters as JsonObject,
      ...(returnParameters === undefined ? {} : { returnParameters })
    }))
  })
}

/** Checks that both values have the same members of the same types. */
function sameShape(t: Test, left: unknown, right: unknown, path: string): void {
  if (typeOf(left) !== typeOf(right)) t.equal(typeOf(left), typeOf(right), path)
  if (Array.isArray(left) && Array.isArray(right)) {
    for (const [index, item] of left.entries()) sameShape(t, item, right[index], `${path}[${index}]`)
    return
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return
  t.same(Object.keys(left).sort(), Object.keys(right).sort(), path)
  for (const [key, value] of Object.entries(left)) sameShape(t, value, right[key], `${path}.${key}`)
}

function typeOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
}
