// Providers of the kind messages_compatible: Anthropic Messages.

import { GATEWAY_SIGNATURE } from '../../../../worker/protocols/messages/client/signature.ts'
import { anthropicBaseUrl } from '../../../support/profile-gateway.ts'
import { joinNeighbours, listFiles, listFunctions, listRoles } from '../../agents/recorded.ts'
import type { Loose } from '../families.ts'
import { breakBy, COMMON_BREAKS, nameAliases, type Provider } from './row.ts'

/** The limit that is sent where the client sets none, because the wire demands one. */
const DEFAULT_LIMIT = 32_000

/** The content of a message as a list of blocks. */
function readBlocks({ content }: Loose): Loose[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/**
 * The recorded thinking came from another provider, through a gateway: this one would refuse its
 * signatures.
 */
function dropForeignThinking({ thinking, ...body }: Loose): Loose {
  const turns = body.messages.map((message: Loose) =>
    Array.isArray(message.content)
      ? { ...message, content: message.content.filter((block: Loose) => block.signature !== GATEWAY_SIGNATURE) }
      : message
  )
  const [turn, results] = turns.slice(-2)
  const isThoughtLost = results?.content[0]?.type === 'tool_result' && turn.content[0].type === 'tool_use'
  return {
    ...body,
    messages: turns,
    ...(thinking === undefined || (isThoughtLost && thinking.type === 'enabled') ? {} : { thinking })
  }
}

export const messages: Provider = {
  name: 'messages',
  kind: 'messages_compatible',
  networkPolicy: 'public-anthropic',
  passes: 'messages',
  aliases: nameAliases('messages'),
  models: { keyed: 'emulator-large', keyless: 'emulator-small' },
  moreAliases: [],
  key: 'key-of-the-messages-provider-7b42',
  baseUrl: (emulator, seat, name) => `${anthropicBaseUrl(emulator, name)}${seat === 'keyless' ? '/v1' : ''}`,
  chatPath: () => '/v1/messages',
  writeHeaders: key => ({ 'anthropic-version': '2023-06-01', ...(key === undefined ? {} : { 'x-api-key': key }) }),

  writeText: (text, { family, model, isStream }) => ({
    model,
    max_tokens: family === 'messages' ? 256 : DEFAULT_LIMIT,
    messages: [{ role: 'user', content: text }],
    ...(isStream ? { stream: true } : {})
  }),
  readQuestion: body => readBlocks(body.messages[0]),
  writeTextPart: text => ({ type: 'text', text }),
  writeImagePart: (mediaType, data) => ({ type: 'image', source: { type: 'base64', media_type: mediaType, data } }),
  readFormat: body => body.output_config,
  writeFormat: schema => ({ format: { type: 'json_schema', schema } }),
  readGeneration: ({ temperature, top_p: topP, top_k: topK, max_tokens: limit, stop_sequences: stop }) => ({
    temperature,
    topP,
    topK,
    limit,
    stop
  }),
  refusedGeneration: ['seed'],
  hasSummaries: false,
  checkReasoning(t, { output_config: config, thinking }, family) {
    if (family === 'completions' || family === 'responses') t.strictSame(config, { effort: 'high' })
    else t.match(thinking, { type: 'enabled', budget_tokens: family === 'messages' ? 2000 : 5000 })
  },
  readToolChoice: body => body.tool_choice,
  requiredCall: { type: 'any' },
  writeNamedCall: name => ({ type: 'tool', name }),
  finishes: {
    length: { completions: 'length', responses: 'max_output_tokens', messages: 'max_tokens', content: 'MAX_TOKENS' },
    blacklist: { completions: 'content_filter', responses: 'content_filter', messages: 'refusal', content: 'SAFETY' },
    pause_turn: { completions: 'stop', responses: 'completed', messages: 'pause_turn', content: 'OTHER' }
  },

  readTurn({ messages: [user, turn, reply, ...rest] }) {
    if (rest.length > 0) throw new Error('There is a message behind the results.')
    const blocks = readBlocks(turn)
    const uses = blocks.filter(({ type }) => type === 'tool_use')
    return {
      question: readBlocks(user)
        .map(({ text }) => text)
        .join(''),
      text: blocks.map(({ text = '' }) => text).join(''),
      calls: uses.map(({ id, name, input }) => ({ id, name, arguments: input })),
      results: (reply === undefined ? [] : readBlocks(reply))
        .filter(({ type }) => type === 'tool_result')
        .map(({ tool_use_id: id, content }) => ({ id, value: JSON.parse(content) })),
      turn: blocks
    }
  },
  checkRefusal: (t, body) => t.strictSame(body.tool_choice, { type: 'auto', disable_parallel_tool_use: true }),

  failures: {
    writeError: (_status, message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
    responses: [
      ['[[badjson]]', 'invalid_json_response'],
      ['[[badjson:array]]', 'invalid_json_response'],
      ['[[badjson:object]]', 'invalid_message_content'],
      ['[[bigtext:1100000]]', 'response_too_large'],
      ['[[malformed:response_not_object]]', 'invalid_json_response'],
      ['[[malformed:invalid_content_block]]', 'invalid_message_content'],
      ...breakBy('invalid_json_response', 'invalid_message_content', 'invalid_finish_reason'),
      ...breakBy('invalid_tool_call', 'invalid_usage')
    ],
    translatedResponses: [],
    streams: [
      ...breakBy('invalid_stream_json', 'invalid_stream_chunk', 'invalid_stream_block', 'invalid_stream_delta'),
      ...breakBy('invalid_stream_content', 'invalid_finish_reason', 'invalid_usage', 'duplicate_stream_start'),
      ...breakBy('stream_data_after_terminal', 'duplicate_stream_terminal', 'incomplete_stream'),
      ...COMMON_BREAKS
    ],
    translatedStreams: [],
    streamStarts: ['[[error:401]]', '[[malformed:stream_data_before_start]]']
  },

  checkAgentRequest(t, request, body) {
    if (request.family === 'messages') {
      t.strictSame(body, { ...dropForeignThinking(request.body), model: body.model }, 'the body as it was sent')
      return
    }
    const { tools = [], messages: turns } = body
    t.strictSame(
      tools.map(({ name, description, input_schema: parameters }: Loose) => ({
        name,
        ...(description === undefined ? {} : { description }),
        parameters
      })),
      listFunctions(request),
      'every function with its own schema'
    )
    // Instructions are a member of their own on this wire, and results are in a turn of the user.
    const expected = listRoles(request, 'v2')
      .filter(role => role !== 'system' && role !== 'developer')
      .map(role => (role === 'tool' ? 'user' : role))
    t.strictSame(
      turns.map(({ role }: Loose) => role),
      joinNeighbours(expected),
      'the turns in order'
    )
    const blocks: Loose[] = turns.flatMap(({ content }: Loose) => (Array.isArray(content) ? content : []))
    const nested = blocks.flatMap(block => (Array.isArray(block.content) ? block.content : []))
    const files = [...blocks, ...nested].filter(({ type }) => type === 'image' || type === 'document')
    const different = new Set(files.map(({ source }) => source.data))
    t.equal(different.size, listFiles(request).length, 'every image')
  }
}
