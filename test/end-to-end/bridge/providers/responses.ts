// Providers of the kind chat_compatible on their other wire: OpenAI Responses (decisions.md 86).

import { malformedResponsesNames } from '../../../../ops/emulator/responses/malformed.ts'
import { responsesBaseUrl } from '../../../support/profile-gateway.ts'
import { joinNeighbours, listFiles, listFunctions, listRoles } from '../../agents/recorded.ts'
import type { Loose } from '../families.ts'
import { breakBy, COMMON_BREAKS, nameAliases, type Provider } from './row.ts'

/** The texts of a message. */
function readText({ content }: Loose): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }: Loose) => text).join('')
}

const ofType = (items: Loose[], ...types: string[]) => items.filter(({ type }) => types.includes(type))

/** Malformed whole responses whose id is also that of a stream. */
const wholeOnly = ['invalid_json_response', 'response_not_object', 'invalid_message_content', 'invalid_tool_call']

export const responses: Provider = {
  name: 'responses',
  kind: 'chat_compatible',
  more: { wire: 'responses' },
  networkPolicy: 'public-openai',
  passes: 'responses',
  aliases: nameAliases('responses'),
  models: { keyed: 'emulator-large', keyless: 'emulator-small' },
  moreAliases: [],
  key: 'key-of-the-responses-provider-3d90',
  baseUrl: (emulator, _seat, name) => responsesBaseUrl(emulator, name),
  chatPath: () => '/v1/responses',
  writeHeaders: key => (key === undefined ? {} : { authorization: `Bearer ${key}` }),

  writeText: (text, { family, model, isStream }) => ({
    model,
    ...(family === 'responses'
      ? { input: text }
      : {
          input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
          store: false,
          include: ['reasoning.encrypted_content']
        }),
    ...(family === 'messages' ? { max_output_tokens: 256 } : {}),
    ...(isStream ? { stream: true } : {})
  }),
  readQuestion: ({ input }) => input[0].content,
  writeTextPart: text => ({ type: 'input_text', text }),
  writeImagePart: (mediaType, data) => ({
    type: 'input_image',
    image_url: `data:${mediaType};base64,${data}`,
    detail: 'auto'
  }),
  readFormat: ({ text: { format } }) => ({ type: format.type, schema: format.schema }),
  writeFormat: schema => ({ type: 'json_schema', schema }),
  readGeneration: ({ temperature, top_p: topP, max_output_tokens: limit }) => ({ temperature, topP, limit }),
  refusedGeneration: [],
  // The gateway applies stop sequences itself.
  unsentGeneration: ['topK', 'seed', 'stop'],
  hasSummaries: true,
  checkReasoning: (t, body) =>
    t.match(body.reasoning, { effort: /^(low|medium|high)$/, summary: /^(auto|detailed|concise)$/ }),
  readToolChoice: body => body.tool_choice,
  requiredCall: 'required',
  writeNamedCall: name => ({ type: 'function', name }),
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

  readTurn({ input: [user, ...rest] }) {
    const calls = ofType(rest, 'function_call')
    return {
      question: readText(user),
      text: rest
        .filter(({ role }: Loose) => role === 'assistant')
        .map(readText)
        .join(''),
      calls: calls.map(({ call_id: id, name, arguments: text }) => ({ id, name, arguments: JSON.parse(text) })),
      results: ofType(rest, 'function_call_output').map(({ call_id: id, output }) => ({
        id,
        value: JSON.parse(output)
      })),
      turn: rest.filter(({ type }: Loose) => type !== 'function_call_output')
    }
  },
  checkRefusal: (t, body) => t.equal(body.parallel_tool_calls, false),

  failures: {
    writeError: (status, message) => ({ error: { message, type: 'invalid_request_error', code: String(status) } }),
    responses: [
      ['[[badjson]]', 'invalid_json_response'],
      ['[[badjson:array]]', 'invalid_json_response'],
      ['[[badjson:object]]', 'invalid_output'],
      ['[[bigtext:1100000]]', 'response_too_large'],
      ['[[malformed:response_not_object]]', 'invalid_json_response'],
      ...breakBy('invalid_json_response', 'invalid_output', 'invalid_output_item', 'invalid_message_content'),
      ...breakBy('invalid_tool_call', 'invalid_response_status', 'invalid_usage')
    ],
    translatedResponses: [],
    streams: [
      ...breakBy(
        ...malformedResponsesNames.filter(name => !wholeOnly.includes(name) && name !== 'stream_data_before_start')
      ),
      ...COMMON_BREAKS
    ],
    translatedStreams: [],
    streamStarts: ['[[error:401]]', '[[malformed:stream_data_before_start]]']
  },

  checkAgentRequest(t, request, { tools = [], input }) {
    if (request.family === 'responses') return
    t.strictSame(
      ofType(tools, 'function').map(({ name, description, parameters }) => ({
        name,
        ...(description === undefined ? {} : { description }),
        parameters: parameters ?? { type: 'object', properties: {} }
      })),
      listFunctions(request),
      'every function with its own schema'
    )
    const roles = input.flatMap(({ type, role }: Loose) => {
      if (type === 'function_call') return ['assistant']
      return type === 'function_call_output' ? ['tool'] : role === undefined ? [] : [role]
    })
    // Instructions are a member of their own on this wire, and media of a result stand in it.
    const isOfModel = (role: string) => role === 'assistant' || role === 'tool'
    t.strictSame(
      joinNeighbours(roles.filter(isOfModel)),
      joinNeighbours(listRoles(request, 'v2').filter(isOfModel)),
      'the turns of the model and the results in order'
    )
    const parts: Loose[] = input.flatMap(({ content, output }: Loose) => [content, output].filter(Array.isArray).flat())
    const files = ofType(parts, 'input_image', 'input_file').map(part => part.image_url ?? part.file_data)
    t.equal(new Set(files).size, new Set(listFiles(request)).size, 'every image and file')
  }
}
