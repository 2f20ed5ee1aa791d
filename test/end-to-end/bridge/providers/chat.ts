// Providers of the kind chat_compatible: OpenAI chat completions.

import { malformedNames } from '../../../../ops/emulator/openai/malformed.ts'
import { chatBaseUrl } from '../../../support/profile-gateway.ts'
import { joinNeighbours, listFiles, listFunctions, listRoles } from '../../agents/recorded.ts'
import type { Loose } from '../families.ts'
import { breakBy, COMMON_BREAKS, nameAliases, type Provider } from './row.ts'

/** The text of a message, whose content is a text or a list of parts. */
function readText({ content }: Loose): string {
  return typeof content === 'string' ? content : (content ?? []).map((part: Loose) => part.text).join('')
}

export const chat: Provider = {
  name: 'chat',
  kind: 'chat_compatible',
  networkPolicy: 'public-openai',
  passes: 'completions',
  aliases: nameAliases('chat'),
  models: { keyed: 'emulator-large', keyless: 'emulator-small' },
  moreAliases: [],
  key: 'key-of-the-chat-provider-5f1c',
  baseUrl: (emulator, _seat, name) => chatBaseUrl(emulator, name),
  chatPath: () => '/v1/chat/completions',
  writeHeaders: key => (key === undefined ? {} : { authorization: `Bearer ${key}` }),

  writeText: (text, { family, model, isStream }) => ({
    model,
    messages: [{ role: 'user', content: family === 'content' ? [{ type: 'text', text }] : text }],
    ...(family === 'messages' ? { max_tokens: 256 } : {}),
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(isStream || family === 'completions' ? {} : { stream: false })
  }),
  readQuestion: ({ messages }) => messages[0].content,
  writeTextPart: text => ({ type: 'text', text }),
  writeImagePart: (mediaType, data) => ({ type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } }),
  readFormat: ({ response_format: { type, json_schema: format } }) => ({ type, schema: format.schema }),
  writeFormat: schema => ({ type: 'json_schema', schema }),
  readGeneration: ({ temperature, top_p: topP, max_tokens, max_completion_tokens: limit, stop, seed }) => ({
    temperature,
    topP,
    limit: limit ?? max_tokens,
    stop,
    seed
  }),
  refusedGeneration: ['topK'],
  hasSummaries: false,
  checkReasoning: (t, body) => t.match(body.reasoning_effort, /^(low|medium|high)$/),
  readToolChoice: body => body.tool_choice,
  requiredCall: 'required',
  writeNamedCall: name => ({ type: 'function', function: { name } }),
  finishes: {
    stop: { completions: 'stop', responses: 'completed', messages: 'end_turn', content: 'STOP' },
    length: { completions: 'length', responses: 'max_output_tokens', messages: 'max_tokens', content: 'MAX_TOKENS' },
    content_filter: {
      completions: 'content_filter',
      responses: 'content_filter',
      messages: 'refusal',
      content: 'SAFETY'
    }
  },

  readTurn({ messages: [user, ...rest] }) {
    const turns: Loose[] = rest.filter(({ role }: Loose) => role === 'assistant')
    const results: Loose[] = rest.filter(({ role }: Loose) => role === 'tool')
    if (turns.length + results.length !== rest.length) throw new Error('A message is neither a turn nor a result.')
    return {
      question: readText(user),
      text: turns.map(readText).join(''),
      calls: turns
        .flatMap(turn => turn.tool_calls ?? [])
        .map(({ id, function: { name, arguments: text } }) => ({ id, name, arguments: JSON.parse(text) })),
      results: results.map(({ tool_call_id: id, content }) => ({ id, value: JSON.parse(content) })),
      turn: turns[0]
    }
  },
  checkRefusal: (t, body) => t.equal(body.parallel_tool_calls, false),

  failures: {
    writeError: (status, message) => ({ error: { message, type: 'invalid_request_error', code: String(status) } }),
    responses: [
      ['[[badjson]]', 'invalid_json_response'],
      ['[[malformed:invalid_finish_reason]]', 'invalid_finish_reason'],
      ['[[bigtext:1100000]]', 'response_too_large'],
      ...breakBy('invalid_choices', 'invalid_choice', 'invalid_message', 'invalid_message_content'),
      ...breakBy('invalid_tool_call', 'invalid_usage'),
      ['[[malformed:empty_choices]]', 'invalid_choices'],
      ['[[malformed:response_not_object]]', 'invalid_json_response']
    ],
    translatedResponses: [],
    streams: [
      ...breakBy(...malformedNames.filter(name => name.includes('stream') && !name.endsWith('_done'))),
      ...COMMON_BREAKS
    ],
    translatedStreams: [],
    streamStarts: ['[[error:401]]']
  },

  checkAgentRequest(t, request, { tools = [], messages }) {
    t.strictSame(
      tools.map(({ function: { name, description, parameters } }: Loose) => ({
        name,
        ...(description === undefined ? {} : { description }),
        parameters: parameters ?? { type: 'object', properties: {} }
      })),
      listFunctions(request),
      'every function with its own schema'
    )
    const roles = messages.map(({ role }: Loose) => (role === 'developer' ? 'system' : role))
    t.strictSame(joinNeighbours(roles), joinNeighbours(listRoles(request, 'v2')), 'the roles in order')
    const images = messages
      .flatMap(({ content }: Loose) => (Array.isArray(content) ? content : []))
      .filter((part: Loose) => part.type === 'image_url' || part.type === 'file')
    const kinds = new Set(images.map((part: Loose) => JSON.stringify(part)))
    t.equal(kinds.size, listFiles(request).length, 'every image and file')
  }
}
