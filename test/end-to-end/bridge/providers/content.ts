// Providers of the kind content_compatible: Google GenAI. The keyed provider's model signs its
// calls and wants the signatures back.

import { googleBaseUrl } from '../../../support/profile-gateway.ts'
import { listSentFunctions } from '../../../support/upstream.ts'
import { joinNeighbours, listFiles, listFunctions, listRoles } from '../../agents/recorded.ts'
import type { Loose } from '../families.ts'
import { breakBy, COMMON_BREAKS, nameAliases, type Provider } from './row.ts'

const blocked = { completions: 'content_filter', responses: 'content_filter', messages: 'refusal' }

/** The text that the service documents for calls that it did not make. */
export const FOREIGN_MARK = 'skip_thought_signature_validator'

/**
 * The body without the texts of its signatures: those of another provider are not sent to this one.
 */
function markSignatures(body: unknown): Loose {
  return JSON.parse(JSON.stringify(body), (key, value) => (key === 'thoughtSignature' ? 'signature' : value))
}

export const content: Provider = {
  name: 'content',
  kind: 'content_compatible',
  networkPolicy: 'public-gemini',
  passes: 'content',
  aliases: nameAliases('content'),
  models: { keyed: 'gemini-3-emulator', keyless: 'emulator-small' },
  moreAliases: [
    // A model of an older generation.
    { alias: 'content/older', model: 'gemini-2.5-flash' },
    { alias: 'content/embeddings', model: 'gemini-embedding-2-emulator' }
  ],
  key: 'key-of-the-content-provider-77d0',
  baseUrl: (emulator, seat, name) => `${googleBaseUrl(emulator, name)}${seat === 'keyless' ? '/v1beta' : ''}`,
  chatPath: (model, isStream) =>
    `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  writeHeaders: (key): Record<string, string> => (key === undefined ? {} : { 'x-goog-api-key': key }),

  writeText: (text, { family }) => ({
    contents: [{ role: 'user', parts: [{ text }] }],
    // The client's protocol demands a limit.
    ...(family === 'messages' ? { generationConfig: { maxOutputTokens: 256 } } : {})
  }),
  readQuestion: ({ contents }) => contents[0].parts,
  writeTextPart: text => ({ text }),
  writeImagePart: (mimeType, data) => ({ inlineData: { mimeType, data } }),
  readFormat: ({ generationConfig: { responseMimeType, responseJsonSchema } }) => ({
    responseMimeType,
    responseJsonSchema
  }),
  writeFormat: schema => ({ responseMimeType: 'application/json', responseJsonSchema: schema }),
  readGeneration: ({
    generationConfig: { temperature, topP, topK, maxOutputTokens: limit, stopSequences: stop, seed }
  }) => ({
    temperature,
    topP,
    topK,
    limit,
    stop,
    seed
  }),
  refusedGeneration: [],
  hasSummaries: true,
  checkReasoning: (t, { generationConfig: { thinkingConfig } }) => t.match(thinkingConfig, { includeThoughts: true }),
  readToolChoice: body => body.toolConfig?.functionCallingConfig,
  requiredCall: { mode: 'ANY' },
  writeNamedCall: name => ({ mode: 'ANY', allowedFunctionNames: [name] }),
  finishes: {
    STOP: { completions: 'stop', responses: 'completed', messages: 'end_turn', content: 'STOP' },
    MAX_TOKENS: {
      completions: 'length',
      responses: 'max_output_tokens',
      messages: 'max_tokens',
      content: 'MAX_TOKENS'
    },
    SAFETY: { ...blocked, content: 'SAFETY' },
    RECITATION: { ...blocked, content: 'RECITATION' }
  },

  readTurn({ contents: [user, turn, reply, ...rest] }) {
    if (rest.length > 0) throw new Error('There is a turn behind the results.')
    const calls: Loose[] = turn.parts.flatMap((part: Loose) => part.functionCall ?? [])
    const results: Loose[] = (reply?.parts ?? []).map((part: Loose) => part.functionResponse)
    return {
      question: user.parts.map(({ text }: Loose) => text).join(''),
      text: turn.parts.map((part: Loose) => (part.thought === true ? '' : (part.text ?? ''))).join(''),
      calls: calls.map(({ id, name, args }) => ({ id, name, arguments: args })),
      results: results.map(({ id, response }) => ({ id, value: response })),
      turn: turn.parts
    }
  },
  // The wire has no member for it: the gateway leaves out the other calls.
  checkRefusal: () => undefined,

  failures: {
    writeError: (status, message) => ({ error: { code: status, message, status: 'INVALID_ARGUMENT' } }),
    responses: [
      ['[[badjson]]', 'invalid_json_response'],
      ['[[bigtext:1100000]]', 'response_too_large'],
      ['[[malformed:response_not_object]]', 'invalid_json_response']
    ],
    translatedResponses: [
      ['[[malformed:invalid_choices]]', 'invalid_candidates'],
      ['[[malformed:invalid_choice]]', 'invalid_candidate'],
      ['[[malformed:invalid_message]]', 'invalid_content'],
      ['[[malformed:invalid_message_content]]', 'invalid_parts'],
      ...breakBy('invalid_usage')
    ],
    streams: [...breakBy('invalid_stream_json'), ...COMMON_BREAKS],
    translatedStreams: [
      ['[[malformed:invalid_stream_choices]]', 'invalid_candidates'],
      ['[[malformed:invalid_stream_choice]]', 'invalid_candidate'],
      ['[[malformed:invalid_stream_delta]]', 'invalid_content'],
      ['[[malformed:invalid_stream_content]]', 'invalid_parts']
    ],
    streamStarts: ['[[error:401]]']
  },

  checkAgentRequest(t, request, body) {
    if (request.family === 'content') {
      t.strictSame(markSignatures(body), markSignatures(request.body), 'the body as it came')
      return
    }
    t.strictSame(
      listSentFunctions(body).map(({ name, description, parametersJsonSchema }: Loose) => ({
        name,
        ...(description === undefined ? {} : { description }),
        parameters: parametersJsonSchema ?? { type: 'object', properties: {} }
      })),
      listFunctions(request),
      'every function with its own schema'
    )
    // Instructions are apart from the conversation, and results are in a turn of the user.
    const roles = listRoles(request, 'v2').filter(role => role !== 'system')
    t.strictSame(
      body.contents.map(({ role }: Loose) => role),
      joinNeighbours(roles.map(role => (role === 'assistant' ? 'model' : 'user'))),
      'the roles in order'
    )
    const media = (JSON.stringify(body.contents).match(/"(?:inlineData|fileData)":/g) ?? []).length
    t.equal(media, listFiles(request).length, 'every image')
  }
}
