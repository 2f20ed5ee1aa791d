// What must hold for each recorded case, in every way that its recording names.

import type { Test } from 'tap'
import { type HttpResponse, readFrames } from '../../support/client.ts'
import type { Family, Loose, Outcome } from '../bridge/families.ts'
import type { Received } from './scripted-provider.ts'

export interface Answer extends HttpResponse {
  isCut: boolean
  /** Undefined for a failure. */
  outcome: Outcome | undefined
  family: Family | undefined
}

export interface SeenWay {
  way: { client?: string; alias: string; provider_kind: string; stream: boolean }
  answers: Answer[]
  /** What the provider got in each step. */
  sent: Received[][]
  last: Answer
  /** The body of the last request that the provider got. */
  lastSent: Loose
  family: Family | undefined
}

type Check = (t: Test, seen: SeenWay) => void

/** The words of each client family. */
const CALLS: Record<string, string> = {
  chat: 'tool_calls',
  responses: 'completed',
  messages: 'tool_use',
  content: 'STOP'
}
const STOP: Record<string, string> = { chat: 'stop', responses: 'completed', messages: 'end_turn', content: 'STOP' }
const LENGTH: Record<string, string> = {
  chat: 'length',
  responses: 'max_output_tokens',
  messages: 'max_tokens',
  content: 'MAX_TOKENS'
}
const FILTER: Record<string, RegExp> = {
  chat: /^content_filter$/,
  responses: /^content_filter$/,
  messages: /^refusal$/,
  content: /^(SAFETY|OTHER|PROHIBITED_CONTENT)$/
}

const PNG = 'iVBORw0KGgo'
const served: Check = (t, { last }) => t.equal(last.status, 200, last.status === 200 ? '' : last.text)

/** The names of the functions that the provider is offered. */
function listOffered(body: Loose): string[] {
  const tools: Loose[] = body.tools ?? body.functions ?? []
  return tools.flatMap(tool => {
    if (tool.functionDeclarations !== undefined) return tool.functionDeclarations.map(({ name }: Loose) => name)
    if (tool.functions?.specifications !== undefined)
      return tool.functions.specifications.map(({ name }: Loose) => name)
    return [tool.function?.name ?? tool.name]
  })
}

/** The schema of the first function. */
function readSchema(body: Loose): Loose {
  const [tool] = body.tools ?? body.functions
  const declared = tool.functionDeclarations?.[0] ?? tool.functions?.specifications?.[0] ?? tool.function ?? tool
  return declared.parameters ?? declared.parametersJsonSchema ?? declared.input_schema
}

function readOutputSchema(body: Loose): Loose {
  return (
    body.response_format?.json_schema?.schema ??
    body.output_config?.format?.schema ??
    body.generationConfig?.responseJsonSchema ??
    body.model_options?.response_format?.schema ??
    body.response_format?.schema
  )
}

const offers =
  (...names: string[]): Check =>
  (t, seen) => {
    served(t, seen)
    t.strictSame(listOffered(seen.lastSent).toSorted(), names.toSorted())
  }

const oneCall: Check = (t, seen) => {
  served(t, seen)
  const [call, ...others] = seen.last.outcome?.calls ?? []
  t.equal(others.length, 0)
  t.equal(call?.name, 'f')
  t.strictSame(call?.arguments, { a: 'x' })
  if (seen.way.client !== 'content') t.match(call?.id, /^.+$/, 'an id')
  t.equal(seen.last.outcome?.finish, CALLS[seen.way.client ?? ''])
}

const ends =
  (words: Record<string, string> | undefined): Check =>
  (t, seen) => {
    served(t, seen)
    t.match(seen.last.outcome?.text, /^.+$/, 'the text stays')
    if (words !== undefined) t.equal(seen.last.outcome?.finish, words[seen.way.client ?? ''])
  }

const refusedWith =
  (status: number, code: string): Check =>
  (t, { last, family }) => {
    t.equal(last.status, status)
    t.equal(family?.readFailure(last).code, code)
  }

const usageParts: Check = (t, { way, last }) => {
  t.equal(last.status, 200)
  const usage = way.stream
    ? readFrames(last.text).findLast(({ type }) => type === 'message_delta').usage
    : last.json.usage
  t.match(usage, { input_tokens: 10, cache_read_input_tokens: 20 })
}

const repeatsWithout =
  (member: string, other?: string): Check =>
  (t, seen) => {
    served(t, seen)
    const [first, second, ...more] = seen.sent[0] ?? []
    t.equal(more.length, 0, 'one repetition at most')
    const final = (second ?? first)?.body
    t.notOk(member in final)
    if (other !== undefined) t.ok(other in final)
  }

/** The messages of a chat body behind the first. */
const textOf = (content: Loose): string =>
  typeof content === 'string' ? content : (content ?? []).map((part: Loose) => part.text ?? '').join('')

const arrives =
  (...texts: string[]): Check =>
  (t, seen) => {
    served(t, seen)
    for (const text of texts) t.ok(JSON.stringify(seen.lastSent).includes(text), `${text} arrives`)
  }

const resultBeside: Check = (t, seen) => {
  arrives('a shot', PNG)(t, seen)
}

const unsent =
  (...texts: string[]): Check =>
  (t, seen) => {
    served(t, seen)
    for (const text of texts) t.notOk(JSON.stringify(seen.lastSent).includes(text), `${text} is not sent`)
  }

const listContents = (body: Loose): Loose[] => body.contents

export const checks: Readonly<Record<string, Check>> = {
  'messages-tooladd-ref'(t, seen) {
    offers('Read', 'mcp__s__find')(t, seen)
    arrives('Tools changed.')(t, seen)
  },
  'messages-toolremoval': offers('Read'),
  'messages-digits-emptytext': (t, { sent }) => t.match(sent[0]?.[0]?.raw, '1234567890123456789'),
  'messages-digits-count': (t, { sent }) =>
    t.match(sent[0]?.[0]?.raw, '"id":1234567890123456789,"z":1.0,"e":1e5,"u":"\\u041f"'),
  'messages-digits-schema': (t, { sent }) => t.match(sent[0]?.[0]?.raw, '9223372036854775807'),
  'messages-nostop'(t, seen) {
    served(t, seen)
    t.equal(seen.last.outcome?.text, 'hey')
    t.equal(seen.last.outcome?.finish, STOP[seen.way.client ?? ''])
    if (seen.way.client === 'messages') t.match(seen.last.text, 'event: message_stop')
  },
  'messages-unsigned-thinking'(t, seen) {
    served(t, seen)
    t.match(seen.lastSent.thinking, { type: 'enabled', budget_tokens: 2000 })
    t.match(seen.lastSent.messages[1].content[0], { type: 'thinking', thinking: 'I must look', signature: '' })
  },
  'messages-usage-chat': usageParts,
  'messages-usage-content': usageParts,
  'messages-usage-native': usageParts,
  'messages-startusage-content'(t, { last }) {
    const start = readFrames(last.text).find(({ type }) => type === 'message_start')
    t.equal(start.message.usage.input_tokens, 30)
  },
  'messages-pdf-result': arrives('JVBERi0xLjQ'),
  'messages-image-textonly'(t, seen) {
    arrives('image/png')(t, seen)
    unsent(PNG)(t, seen)
  },
  'messages-textdocument': arrives('PLAIN-DOCUMENT'),
  'messages-order-chat'(t, seen) {
    served(t, seen)
    const turn = seen.lastSent.messages.find(({ role }: Loose) => role === 'assistant')
    t.strictSame(
      turn.content.map(({ type }: Loose) => type),
      ['thinking', 'tool_use', 'redacted_thinking', 'thinking', 'tool_use']
    )
  },
  'messages-529-content'(t, { last, way, family }) {
    t.equal(last.status, 503)
    t.equal(last.headers.get('retry-after'), '7')
    if (way.client === 'messages') t.equal(family?.readFailure(last).type, 'overloaded_error')
  },
  'messages-foreign-state'(t, seen) {
    served(t, seen)
    t.notMatch(JSON.stringify(seen.lastSent), /state_?id/i)
  },
  'chat-call-notype': oneCall,
  'chat-call-nulltype': oneCall,
  'chat-call-noid': oneCall,
  'chat-call-object': oneCall,
  'chat-reasoning-back'(t, seen) {
    served(t, seen)
    t.match(
      seen.lastSent.messages.find(({ role }: Loose) => role === 'assistant'),
      { reasoning_content: 'because' }
    )
  },
  'chat-reasoning-back-name'(t, seen) {
    served(t, seen)
    const turn = seen.lastSent.messages.find(({ role }: Loose) => role === 'assistant')
    t.match(turn, { reasoning: 'because' })
  },
  'chat-reasoning-echo'(t, seen) {
    served(t, seen)
    t.match(JSON.stringify(seen.lastSent.messages), 'reasoning_content')
  },
  'chat-metadata-messages'(t, seen) {
    served(t, seen)
    t.notOk('metadata' in seen.lastSent)
  },
  'chat-limit-echo'(t, seen) {
    served(t, seen)
    t.equal(seen.lastSent.max_completion_tokens, 9)
    t.notOk('max_tokens' in seen.lastSent)
  },
  'chat-limit-field'(t, seen) {
    served(t, seen)
    t.equal(seen.lastSent.max_completion_tokens, 99)
    t.notOk('max_tokens' in seen.lastSent)
  },
  'chat-limit-refused': repeatsWithout('max_tokens', 'max_completion_tokens'),
  'chat-parallel-refused': repeatsWithout('parallel_tool_calls'),
  'chat-parts'(t, seen) {
    served(t, seen)
    t.equal(seen.last.outcome?.text, 'hi')
    // A content client sees thoughts only where it asks for them.
    if (seen.way.client !== 'content') t.equal(seen.last.outcome?.reasoning, 'think')
  },
  'chat-finish-modellength': ends(LENGTH),
  'chat-finish-eos': ends(STOP),
  'chat-finish-resource': ends(undefined),
  'chat-finish-null': ends(STOP),
  'chat-usage-flat'(t, seen) {
    served(t, seen)
    t.equal(seen.last.outcome?.usage?.cached, 8)
  },
  'chat-citations'(t, seen) {
    served(t, seen)
    const { json } = seen.last
    const annotations =
      seen.way.client === 'chat'
        ? json.choices[0].message.annotations
        : json.output.flatMap(({ content }: Loose) => content ?? []).flatMap((part: Loose) => part.annotations ?? [])
    t.match(JSON.stringify(annotations), 'https://example.org/x')
  },
  'chat-code-context': refusedWith(400, 'context_length_exceeded'),
  'chat-code-quota': refusedWith(429, 'insufficient_quota'),
  'chat-code-firstframe': refusedWith(400, 'context_length_exceeded'),
  'chat-legacy-functions': offers('f'),
  'chat-toolmessage-image': resultBeside,
  'chat-result-wrapper'(t, seen) {
    served(t, seen)
    const result = seen.lastSent.messages.find(({ role }: Loose) => role === 'tool')
    t.notMatch(textOf(result.content), /^\{"result"/)
  },
  'responses-phase': arrives('I look.', 'Four.'),
  'responses-incomplete-own': arrives('half an'),
  'responses-output-list'(t, seen) {
    arrives('first', 'second')(t, seen)
    if (seen.way.provider_kind === 'chat') {
      t.type(seen.lastSent.messages.find(({ role }: Loose) => role === 'tool').content, 'string')
    }
  },
  'responses-output-image-chat'(t, seen) {
    served(t, seen)
    const at = seen.lastSent.messages.findIndex(({ role }: Loose) => role === 'tool')
    t.match(textOf(seen.lastSent.messages[at].content), 'a shot')
    t.equal(seen.lastSent.messages[at + 1].role, 'user')
    t.match(JSON.stringify(seen.lastSent.messages[at + 1]), PNG)
  },
  'responses-output-image-others'(t, seen) {
    served(t, seen)
    const { lastSent } = seen
    const parts: Loose[] = [...(lastSent.messages ?? []), ...(lastSent.contents ?? [])].flatMap(
      ({ content, parts }: Loose) => parts ?? (Array.isArray(content) ? content : [])
    )
    const result = parts.find(part => part.type === 'tool_result' || part.functionResponse !== undefined)
    t.match(JSON.stringify(result), PNG, 'inside of the result')
  },
  'responses-strict'(t, seen) {
    served(t, seen)
    const [tool] = seen.lastSent.tools
    if (seen.way.provider_kind === 'chat') t.equal(tool.function.strict, true)
    if (seen.way.provider_kind === 'messages') t.equal(tool.strict, true)
  },
  'responses-summary'(t, seen) {
    served(t, seen)
    if (seen.way.provider_kind === 'chat') t.match(seen.last.headers.get('x-gateway-ignored'), 'reasoning.summary')
  },
  'responses-custom'(t, seen) {
    served(t, seen)
    const schema = readSchema(seen.lastSent)
    t.match(schema.properties, { input: { type: 'string' } })
    t.match(JSON.stringify(seen.lastSent), 'BEGIN', 'the grammar stands in the description')
    const call = seen.last.json.output.find(({ type }: Loose) => type === 'custom_tool_call')
    t.match(call, { name: 'apply_patch', input: /^\*\*\* Begin\n"x"/ })
  },
  'responses-custom-history': arrives('PATCH-TEXT', 'PATCH-RESULT'),
  'responses-foreign-reasoning': unsent('gAAAAAforeign'),
  'responses-switch-idless': served,
  'responses-members'(t, seen) {
    served(t, seen)
    t.match(seen.last.json, {
      background: false,
      service_tier: 'default',
      frequency_penalty: 0,
      presence_penalty: 0,
      top_logprobs: 0,
      max_tool_calls: null,
      safety_identifier: null,
      prompt_cache_key: null,
      completed_at: Number
    })
  },
  'responses-inputtokens'(t, seen) {
    served(t, seen)
    const { input_tokens: inputTokens, ...others } = seen.last.json
    t.strictSame(others, { object: 'response.input_tokens' })
    t.ok(inputTokens > 0)
    const isEstimate = seen.way.provider_kind === 'chat'
    t.equal(seen.last.headers.get('x-gateway-token-count'), isEstimate ? 'estimate' : null)
  },
  'responses-websocket'(t, { last }) {
    t.equal(last.status, 426)
    t.match(last.json, { error: { type: 'invalid_request_error', code: 'upgrade_required', param: null } })
    t.equal(last.headers.get('upgrade'), null)
    t.equal(last.headers.get('connection'), 'close')
  },
  'responses-compactiontrigger'(t, seen) {
    served(t, seen)
    const { way, last, lastSent } = seen
    const response = way.stream ? readFrames(last.text).findLast(({ response: one }) => one).response : last.json
    t.match(response, { object: 'response', status: 'completed' })
    t.match(response.output, [{ type: 'compaction', id: /^cmp_/, encrypted_content: /^gateway-summary:/ }])
    t.equal(response.output.length, 1)
    if (way.provider_kind === 'native') t.ok(response.usage.total_tokens > 0)
    else t.match(response.usage, { input_tokens: 3, output_tokens: 2, total_tokens: 5 })
    t.notMatch(last.text, 'SUMMARY-77')
    t.match(JSON.stringify(lastSent), /three.*Summarize the conversation/)
    if (!way.stream) return
    const items = readFrames(last.text).filter(({ type }) => /output_item/.test(type))
    t.match(items, [
      { type: 'response.output_item.added', output_index: 0, item: { type: 'compaction' } },
      { type: 'response.output_item.done', output_index: 0, item: response.output[0] }
    ])
  },
  'content-result-text'(t, seen) {
    served(t, seen)
    const contents = listContents(seen.lastSent)
    const at = contents.findIndex(({ parts }) => parts.some((part: Loose) => part.functionResponse !== undefined))
    t.equal(contents[at].parts.length, 1, 'the result alone')
    t.match(contents[at + 1], { role: 'user', parts: [{ text: 'and now?' }] })
  },
  'content-result-media'(t, seen) {
    served(t, seen)
    const contents = listContents(seen.lastSent)
    const at = contents.findIndex(({ parts }) => parts.some((part: Loose) => part.functionResponse !== undefined))
    t.notMatch(JSON.stringify(contents[at]), PNG)
    t.equal(contents[at + 1].role, 'user')
    t.match(JSON.stringify(contents[at + 1]), PNG)
  },
  'content-latest-mark'(t, seen) {
    served(t, seen)
    const parts = listContents(seen.lastSent).flatMap(content => content.parts)
    t.match(
      parts.find(part => part.functionCall !== undefined),
      { thoughtSignature: 'skip_thought_signature_validator' }
    )
  },
  'content-latest-media'(t, seen) {
    served(t, seen)
    const parts = listContents(seen.lastSent).flatMap(content => content.parts)
    t.match(JSON.stringify(parts.find(part => part.functionResponse !== undefined)), PNG)
  },
  'content-enum-integer'(t, seen) {
    served(t, seen)
    const { n, s } = readSchema(seen.lastSent).properties
    t.strictSame(n, { type: 'integer', enum: [1, 2, 3] })
    t.strictSame(s, { type: 'string', enum: ['1', '2'] })
  },
  'content-enum-response'(t, seen) {
    served(t, seen)
    t.strictSame(readOutputSchema(seen.lastSent).properties.n.enum, [1, 2])
  },
  'content-bounds'(t, seen) {
    served(t, seen)
    t.match(readSchema(seen.lastSent).properties, { x: { minimum: 1, maximum: 5.5 }, z: { minItems: 1, maxItems: 3 } })
  },
  'content-refdefs'(t, seen) {
    served(t, seen)
    t.match(readSchema(seen.lastSent), { properties: { x: { $ref: '#/$defs/P' } }, $defs: { P: { type: 'string' } } })
  },
  'content-ref-result'(t, seen) {
    served(t, seen)
    const parts = listContents(seen.lastSent).flatMap(content => content.parts)
    const { response } = parts.find(part => part.functionResponse !== undefined).functionResponse
    t.strictSame(
      Object.values(response).map(value => typeof value),
      ['string']
    )
  },
  'content-malformed'(t, { last, family, way }) {
    if (last.status === 200) t.ok(way.stream && family?.readStreamFailure(last.text) !== undefined, last.text)
    else t.match(last.status, /^50[02]$/)
  },
  'content-modelarmor'(t, { last, way }) {
    t.match(last.outcome?.finish, FILTER[way.client ?? ''])
  },
  'content-switch': unsent('U0lHTkFUVVJF'),
  'content-topk'(t, seen) {
    served(t, seen)
    t.match(seen.last.headers.get('x-gateway-ignored'), 'generationConfig.topK')
  },
  'content-topk-refuse'(t, { last }) {
    t.equal(last.status, 400)
    t.match(last.json.error.message, 'topK')
    t.match(last.json.error.message, 'r/chat')
  },
  'content-allowed-empty': served,
  'embeddings-150'(t, { last, sent }) {
    t.equal(last.status, 200)
    t.equal(sent[0]?.length, 2)
    t.strictSame(
      last.json.data.map(({ index }: Loose) => index),
      Array.from({ length: 150 }, (_, index) => index)
    )
    t.equal(new Set(last.json.data.map(({ embedding }: Loose) => JSON.stringify(embedding))).size, 150)
  },
  'embeddings-dims-each'(t, { last, lastSent }) {
    t.equal(last.status, 200)
    t.strictSame(
      lastSent.requests.map(({ outputDimensionality }: Loose) => outputDimensionality),
      [64, 128]
    )
  },
  'languages-usage-unasked'(t, seen) {
    served(t, seen)
    const chunks = readFrames(seen.last.text).filter(chunk => typeof chunk === 'object')
    t.ok(chunks.length > 1)
    for (const chunk of chunks) t.notOk('usage' in chunk)
  },
  'languages-usage-asked'(t, seen) {
    served(t, seen)
    const chunks = readFrames(seen.last.text).filter(chunk => typeof chunk === 'object')
    const last = chunks.pop()
    t.strictSame(last.choices, [])
    t.type(last.usage.total_tokens, 'number')
    for (const chunk of chunks) t.equal(chunk.usage, null)
  },
  'languages-broken-stream'(t, { last }) {
    t.equal(last.status, 200)
    t.equal(last.isCut, true)
    t.match(last.text.trimEnd().split('\n\n').at(-1), /^data: \{"error":/)
    t.notMatch(last.text, '[DONE]')
  },
  'languages-empty-part': served,
  'languages-response-schema'(t, seen) {
    offers('f')(t, seen)
    t.notMatch(JSON.stringify(seen.lastSent), 'response_json_schema')
  },
  'languages-skip-signature'(t, seen) {
    served(t, seen)
    const text = JSON.stringify(seen.lastSent)
    const word = /c2tpcF90aG91Z2h0|skip_thought_signature_validator/
    if (seen.way.provider_kind === 'content') t.match(text, word)
    else t.notMatch(text, word)
  },
  'languages-broken-arguments'(t, seen) {
    served(t, seen)
    const calls = JSON.stringify(seen.lastSent)
    if (seen.way.provider_kind === 'chat') {
      const turn = seen.lastSent.messages.find(({ tool_calls: made }: Loose) => made !== undefined)
      t.equal(turn.tool_calls[0].function.arguments, '{"city": oops}')
    } else t.match(calls, /"arguments":"\{\\"city\\": oops\}"|\\"arguments\\"/)
  },
  'languages-v1alpha': served,
  'languages-azure-prefix': served
}
