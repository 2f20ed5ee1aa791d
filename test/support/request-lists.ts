// Bodies whose cost lies in one list: for every member of the parameter tables, and for the lists inside it, a body with a given
// number of the smallest possible items. The tests of growth and the measurement of costs use the same bodies.

import { BASE_FEATURES } from '../../shared/profile/profile.ts'
import type { ChatConfiguration } from '../../worker/bridge/plan-chat.ts'
import type { AliasRoute } from '../../worker/bridge/resolve-route.ts'
import { planUpstreamHeaders } from '../../worker/execution/upstream-headers.ts'
import { type ClientProtocol, GatewayError, type JsonObject, type JsonValue } from '../../worker/normalized/index.ts'
import { readEmbeddingsRequest } from '../../worker/protocols/completions/client/embeddings.ts'
import { embeddingsParameters } from '../../worker/protocols/completions/client/schema.ts'
import { chatParameters } from '../../worker/protocols/completions/members.ts'
import { readCountTokensRequest as readContentCount } from '../../worker/protocols/content/client/count-tokens.ts'
import {
  readBatchEmbedContentsRequest,
  readEmbedContentRequest
} from '../../worker/protocols/content/client/embeddings.ts'
import {
  batchEmbedContentsParameters,
  countTokensParameters as contentCountParameters,
  embedContentParameters
} from '../../worker/protocols/content/client/schema.ts'
import { contentParameters, generationParameters } from '../../worker/protocols/content/members.ts'
import { readCountTokensRequest as readMessagesCount } from '../../worker/protocols/messages/client/count-tokens.ts'
import { countTokensParameters as messagesCountParameters } from '../../worker/protocols/messages/client/schema.ts'
import { messagesParameters } from '../../worker/protocols/messages/members.ts'
import type { NativeOptions } from '../../worker/protocols/native/options.ts'
import type { ApiMode, WrittenPost } from '../../worker/protocols/provider-face.ts'
import { findProviderFace, providerFaces } from '../../worker/protocols/registry.ts'
import { responsesParameters } from '../../worker/protocols/responses/members.ts'
import type { ParameterTable } from '../../worker/protocols/shared/members/parameters.ts'
import { translateChat } from '../../worker/translation/chat.ts'
import { readJsonObject } from '../../worker/translation/json-body.ts'
import { decodeTokens } from '../../worker/translation/token-decoding.ts'
import { estimateTokens } from '../../worker/translation/token-estimate.ts'
import { requestId } from './codec.ts'

/** Makes a member's value with a number of items; a key with a `+` sets further members of the body. */
type Maker = (count: number) => JsonValue

/** Lists by a short description; `plain` for a member that can hold no list of its own kind. */
type Makers = Record<string, Maker>

export interface Operation {
  name: string
  /** Its parameter tables; `at` is the member that holds the parameters of a nested table. */
  tables: ReadonlyArray<{ table: ParameterTable; at?: string }>
  /** Members that every body needs. */
  smallest: JsonObject
  /** By member. Every supported member of a table has an entry. */
  makers: Record<string, Makers>
  /** The ways in which a body is read and written: one for each contract of the provider. */
  run: Record<string, (bytes: Uint8Array) => void>
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)
const list = <Item>(count: number, item: (index: number) => Item): Item[] => numbers(count).map(item)
const members = (count: number, value: (index: number) => JsonValue = index => index): JsonObject =>
  Object.fromEntries(numbers(count).map(index => [`m${index}`, value(index)]))

/** Lists that any member may be sent with, also one that needs another type. */
const anyLists: Makers = {
  numbers: count => list(count, index => index),
  text: count => 'a'.repeat(10 * count),
  'integer members': count => Object.fromEntries(list(count, index => [index * 1000, 0])),
  'objects by name': count => members(count, () => ({ type: 'x' }))
}

/** A member without effect is not read, so one of them suffices. */
const ignoredLists: Makers = { 'objects by name': count => members(count, () => ({})) }

// Schemas.

/** Lists of a schema that is passed on unchanged. */
const jsonSchemas: Makers = {
  properties: count => ({ type: 'object', properties: members(count, () => ({})) }),
  enum: count => ({ type: 'string', enum: list(count, index => `${index}`) }),
  keywords: count => ({ type: 'object', ...members(count) })
}

/** Lists of a schema that is converted. */
const openApiSchemas: Makers = {
  ...jsonSchemas,
  definitions: count => ({ type: 'object', $defs: members(count, () => ({ type: 'string' })) }),
  alternatives: count => ({ nullable: true, anyOf: list(count, () => ({ type: 'string' })) }),
  'nested alternatives': count => ({
    properties: members(count, () => ({ nullable: true, any_of: [{ type: 'STRING' }] }))
  }),
  'nullable properties': count => ({
    type: 'OBJECT',
    properties: members(count, () => ({ nullable: true, max_items: '1', example: 1 })),
    property_ordering: Object.keys(members(count)).reverse()
  }),
  examples: count => ({ type: 'object', examples: list(count, index => index), example: 1 })
}

/** The lists of `makers` inside of `wrap`. */
function within(makers: Makers, wrap: (value: JsonValue) => JsonValue): Makers {
  return Object.fromEntries(Object.entries(makers).map(([name, make]) => [name, (count: number) => wrap(make(count))]))
}

const inSchema = (wrap: (schema: JsonValue) => JsonValue): Makers => within(jsonSchemas, wrap)

const plain: Makers = {}

// Messages of chat completions.

const chatCall = (index: number, id: JsonObject = { id: `c${index}` }) => ({
  ...id,
  type: 'function',
  function: { name: `f${index % 7}`, arguments: '{}' }
})
const chatMessages: Makers = {
  plain: count => list(count, () => ({ role: 'user', content: '' })),
  alternating: count => list(count, index => ({ role: index % 2 ? 'assistant' : 'user', content: 'a' })),
  system: count => list(count, () => ({ role: 'system', content: 'a' })),
  'unknown roles': count => list(count, index => ({ role: `r${index}`, content: [] })),
  parts: count => [{ role: 'user', content: list(count, () => ({ type: 'text', text: 'a' })) }],
  images: count => [
    { role: 'user', content: list(count, index => ({ type: 'image_url', image_url: `http://a/${index}` })) }
  ],
  'one image per message': count =>
    list(count, index => ({ role: 'user', content: [{ type: 'image_url', image_url: `http://a/${index}` }] })),
  'images by data': count => [
    { role: 'user', content: list(count, () => ({ type: 'image_url', image_url: 'data:image/png;base64,aa' })) }
  ],
  files: count => [{ role: 'user', content: list(count, index => ({ type: 'file', file: { file_id: `${index}` } })) }],
  'calls of one message': count => [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: null, tool_calls: list(count, index => chatCall(index)) }
  ],
  'calls and results in order': count => [
    { role: 'assistant', tool_calls: list(count, index => chatCall(index)) },
    ...list(count, index => ({ role: 'tool', tool_call_id: `c${index}`, content: '' }))
  ],
  'calls and results in reverse': count => [
    { role: 'assistant', tool_calls: list(count, index => chatCall(index)) },
    ...list(count, index => ({ role: 'tool', tool_call_id: `c${count - 1 - index}`, content: '' }))
  ],
  'calls and results without ids': count => [
    { role: 'assistant', tool_calls: list(count, index => chatCall(index, {})) },
    ...list(count, index => ({ role: 'tool', name: `f${index % 7}`, content: '' }))
  ],
  'calls and results of one id': count => [
    { role: 'assistant', tool_calls: list(count, index => chatCall(index, { id: 'a' })) },
    ...list(count, () => ({ role: 'tool', tool_call_id: 'a', content: '' }))
  ],
  'turns of a call and a result': count =>
    numbers(count).flatMap((index): JsonObject[] => [
      { role: 'assistant', tool_calls: [chatCall(index)] },
      { role: 'tool', tool_call_id: `c${index}`, content: '' }
    ]),
  'results without calls': count => list(count, index => ({ role: 'tool', name: `f${index}`, content: '' })),
  'results that are no JSON': count => [
    { role: 'assistant', tool_calls: [chatCall(0)] },
    ...list(count, () => ({ role: 'tool', name: 'f', content: '{' }))
  ],
  'results of one call': count => [
    { role: 'assistant', tool_calls: [chatCall(0)] },
    ...list(count, () => ({ role: 'tool', tool_call_id: 'c0', content: 'a' }))
  ],
  'results with images': count => [
    { role: 'assistant', tool_calls: list(count, index => chatCall(index)) },
    ...list(count, index => ({
      role: 'tool',
      tool_call_id: `c${index}`,
      content: [{ type: 'image_url', image_url: `http://a/${index}` }]
    }))
  ],
  'calls that are abandoned': count =>
    numbers(count).flatMap((index): JsonObject[] => [
      { role: 'assistant', tool_calls: [chatCall(index)] },
      { role: 'user', content: 'a' }
    ]),
  'calls with a name of their own': count => [
    {
      role: 'assistant',
      tool_calls: list(count, index => ({ id: `${index}`, function: { name: `§${index}`, arguments: '' } }))
    }
  ],
  'legacy calls': count =>
    numbers(count).flatMap((): JsonObject[] => [
      { role: 'assistant', function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: '' }
    ]),
  'arguments of one call': count => [
    {
      role: 'assistant',
      tool_calls: [{ id: 'a', function: { name: 'f', arguments: JSON.stringify(members(count)) } }]
    },
    { role: 'tool', tool_call_id: 'a', content: JSON.stringify(members(count)) }
  ],
  'attached files': count => [{ role: 'user', content: 'a', attachments: list(count, index => `${index}`) }],
  'attached files of results': count => [
    { role: 'tool', name: 'f', content: '', attachments: list(count, index => `${index}`) }
  ],
  'members of a message': count => [{ role: 'user', content: 'a', ...members(count) }],
  'members of a part': count => [{ role: 'user', content: [{ type: 'text', text: 'a', ...members(count) }] }]
}

// Tools of the completions family.

const chatTool = (index: number) => ({ type: 'function', function: { name: `f${index}` } })
const chatTools: Makers = {
  functions: count => list(count, chatTool),
  'functions of one name': count => list(count, () => chatTool(0)),
  'functions with replaced names': count =>
    list(count, index => ({ type: 'function', name: `${'§'.repeat(70)}${index}` })),
  'tools of one namespace': count => [
    { type: 'namespace', name: 'n', tools: list(count, index => ({ type: 'function', name: `f${index}` })) }
  ],
  namespaces: count => list(count, index => ({ type: 'namespace', name: `n${index}`, tools: [{ name: 'f' }] })),
  specifications: count => [{ functions: { specifications: list(count, index => ({ name: `f${index}` })) } }],
  hosted: count => list(count, () => ({ type: 'web_search' })),
  'members of a hosted tool': count => [{ type: 'web_search', ...members(count) }],
  'nulls in a hosted tool': count => [{ type: 'web_search', web_search: { a: list(count, () => [null]) } }],
  'hosted members': count => [Object.fromEntries(list(count, index => [`web_search_${index}`, {}]))],
  'unknown members': count => [members(count, () => ({}))],
  'unknown kinds': count => list(count, index => ({ type: `t${index}` })),
  'no tools': count => list(count, () => null),
  examples: count => [{ type: 'function', function: { name: 'f', few_shot_examples: list(count, () => ({})) } }],
  ...inSchema(schema => [{ type: 'function', function: { name: 'f', parameters: schema } }]),
  'schemas of results': count => [
    { type: 'function', function: { name: 'f', return_parameters: jsonSchemas.properties?.(count) ?? null } }
  ]
}
const chatChoices: Makers = {
  'allowed names': count => ({
    type: 'allowed_tools',
    allowed_tools: { mode: 'auto', tools: list(count, () => ({ type: 'function', name: 'f' })) }
  }),
  'allowed kinds': count => ({ type: 'allowed_tools', tools: list(count, () => ({ type: 'web_search' })) }),
  'unknown kinds': count => ({ type: 'allowed_tools', tools: list(count, () => ({ type: 'x' })) }),
  members: count => ({ type: 'function', name: 'f', ...members(count) })
}
const formats = inSchema(schema => ({ type: 'json_schema', json_schema: { name: 'a', schema } }))
const headers: Makers = {
  'custom headers': count => Object.fromEntries(list(count, index => [`x-${index}`, 'a'])),
  'headers of one name': count => Object.fromEntries(list(count, index => [`x${' '.repeat(index % 50)}`, index])),
  'no headers': count => Object.fromEntries(list(count, index => [`é${index}`, '\n']))
}
const additional: Makers = {
  members: count => members(count),
  'model options': count => ({ model_options: members(count) }),
  'nested options': count => ({ model_options: { a: members(count, () => ({ b: 1 })) } }),
  tools: count => ({ tools: list(count, () => ({ web_search: {} })) }),
  storage: count => ({ storage: members(count, () => null) })
}
const optionLists: Makers = { list: count => list(count, index => index), members: count => members(count, () => null) }

const extraMembers = { extra_body: additional, additional_fields: additional, extra_headers: headers }
const nativeFields = {
  flags: optionLists,
  function_ranker: optionLists,
  profanity_check: plain,
  repetition_penalty: plain,
  storage: optionLists,
  update_interval: plain
}
const chatToolMembers = {
  tools: chatTools,
  tool_choice: chatChoices,
  parallel_tool_calls: plain,
  functions: {
    functions: count => list(count, index => ({ name: `f${index}` })),
    ...inSchema(schema => [{ name: 'f', parameters: schema }])
  } as Makers,
  function_call: { members: count => ({ name: 'f', ...members(count) }) } as Makers
}
const sampling = {
  temperature: plain,
  top_p: plain,
  max_tokens: plain,
  frequency_penalty: plain,
  presence_penalty: plain,
  seed: plain,
  user: plain,
  metadata: { members: count => members(count, () => 'a') } as Makers
}
const stops: Makers = {
  strings: count => list(count, index => `${index}`),
  'empty strings': count => list(count, () => ''),
  characters: count => ['x'.repeat(count), `${'x'.repeat(count)}y`]
}
const reasoning: Makers = { members: count => ({ effort: 'low', ...members(count) }) }

// Items of Responses.

const itemCall = (index: number, more: JsonObject = { call_id: `c${index}` }) => ({
  type: 'function_call',
  name: `f${index % 7}`,
  arguments: '{}',
  ...more
})
const itemResult = (more: JsonObject) => ({ type: 'function_call_output', output: '', ...more })
const inputs: Makers = {
  ...chatMessages,
  // The chat forms that this operation refuses stay in the list: refusing them must be cheap as well.
  items: count => list(count, () => ({ role: 'user', content: [{ type: 'input_text', text: 'a' }] })),
  'input parts': count => [{ role: 'user', content: list(count, () => ({ type: 'input_text', text: 'a' })) }],
  'input images': count => [
    { role: 'user', content: list(count, index => ({ type: 'input_image', image_url: `http://a/${index}` })) }
  ],
  'input files': count => [
    { role: 'user', content: list(count, index => ({ type: 'input_file', file_id: `${index}` })) }
  ],
  'skipped items': count => [{ role: 'user', content: 'a' }, ...list(count, () => ({ type: 'reasoning' }))],
  'declared tools': count => [
    { type: 'additional_tools', tools: list(count, index => ({ type: 'function', name: `f${index}` })) },
    { role: 'user', content: 'a' }
  ],
  'items that declare tools': count => [
    { role: 'user', content: 'a' },
    ...list(count, index => ({ type: 'additional_tools', tools: [{ type: 'function', name: `f${index}` }] }))
  ],
  'item calls': count => [{ role: 'user', content: 'a' }, ...list(count, index => itemCall(index))],
  'item calls and results': count => [
    ...list(count, index => itemCall(index)),
    ...list(count, index => itemResult({ call_id: `c${index}` }))
  ],
  'item turns': count => numbers(count).flatMap(index => [itemCall(index), itemResult({ call_id: `c${index}` })]),
  'item calls and results without ids': count => [
    ...list(count, index => itemCall(index, {})),
    ...list(count, index => itemResult({ name: `f${index % 7}` }))
  ],
  'item calls and results of one id': count => [
    ...list(count, index => itemCall(index, { call_id: 'a' })),
    ...list(count, () => itemResult({ call_id: 'a' }))
  ],
  'cut calls': count => [
    { role: 'user', content: 'a' },
    ...list(count, index => itemCall(index, { call_id: `${index}`, arguments: '{' }))
  ],
  'members of an item': count => [{ type: 'message', role: 'user', content: 'a', ...members(count) }]
}

// Messages of the messages protocol.

const use = (index: number, id = `c${index}`) => ({ type: 'tool_use', id, name: `f${index % 7}`, input: {} })
const used = (id: string, more: JsonObject = {}) => ({ type: 'tool_result', tool_use_id: id, ...more })
const blockMessages: Makers = {
  plain: count => list(count, () => ({ role: 'user', content: '' })),
  alternating: count => list(count, index => ({ role: index % 2 ? 'assistant' : 'user', content: 'a' })),
  blocks: count => [{ role: 'user', content: list(count, () => ({ type: 'text', text: 'a' })) }],
  'blocks without effect': count => [
    { role: 'user', content: list<JsonObject>(count, () => ({ type: 'x' })).concat({ type: 'text', text: 'a' }) }
  ],
  images: count => [
    {
      role: 'user',
      content: list(count, index => ({ type: 'image', source: { type: 'url', url: `http://a/${index}` } }))
    }
  ],
  thinking: count => [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: list(count, () => ({ type: 'thinking', thinking: 'a', signature: 'b' })) }
  ],
  'calls and results in order': count => [
    { role: 'assistant', content: list(count, index => use(index)) },
    { role: 'user', content: list(count, index => used(`c${index}`)) }
  ],
  'calls and results in reverse': count => [
    { role: 'assistant', content: list(count, index => use(index)) },
    { role: 'user', content: list(count, index => used(`c${count - 1 - index}`)) }
  ],
  'calls and results of one id': count => [
    { role: 'assistant', content: list(count, index => use(index, 'a')) },
    { role: 'user', content: list(count, () => used('a')) }
  ],
  'calls and results of unknown ids': count => [
    { role: 'assistant', content: list(count, index => use(index)) },
    { role: 'user', content: list(count, index => used(`d${index}`)) }
  ],
  'calls without results': count => [{ role: 'assistant', content: list(count, index => use(index)) }],
  'turns of a call and a result': count =>
    numbers(count).flatMap((index): JsonObject[] => [
      { role: 'assistant', content: [use(index)] },
      { role: 'user', content: [used(`c${index}`)] }
    ]),
  'blocks of one result': count => [
    { role: 'assistant', content: [use(0)] },
    { role: 'user', content: [used('c0', { content: list(count, () => ({ type: 'text', text: 'a' })) })] }
  ],
  'references of one result': count => [
    { role: 'assistant', content: [use(0)] },
    {
      role: 'user',
      content: [used('c0', { content: list(count, () => ({ type: 'tool_reference', tool_name: 'a' })) })]
    }
  ],
  'images of one result': count => [
    { role: 'assistant', content: [use(0)] },
    {
      role: 'user',
      content: [
        used('c0', {
          content: list(count, index => ({ type: 'image', source: { type: 'file', file_id: `${index}` } }))
        })
      ]
    }
  ],
  'results with an image': count => [
    { role: 'assistant', content: list(count, index => use(index)) },
    ...list(count, index => ({
      role: 'user',
      content: [used(`c${index}`, { content: [{ type: 'image', source: { type: 'url', url: `http://a/${index}` } }] })]
    }))
  ],
  'members of a call': count => [
    { role: 'assistant', content: [{ ...use(0), input: members(count) }] },
    { role: 'user', content: [used('c0')] }
  ],
  'members of a block': count => [{ role: 'user', content: [{ type: 'text', text: 'a', ...members(count) }] }]
}
const systems: Makers = {
  blocks: count => list(count, () => ({ type: 'text', text: 'a' })),
  'blocks without effect': count => list(count, () => ({ type: 'x' })),
  'billing lines': count => 'x-anthropic-billing-header: a\n'.repeat(count)
}
const blockTools: Makers = {
  functions: count => list(count, index => ({ name: `f${index}` })),
  'functions of one name': count => list(count, () => ({ name: 'f' })),
  'deferred functions': count => list(count, index => ({ name: `f${index}`, defer_loading: true })),
  hosted: count => list(count, () => ({ type: 'web_search_20250305' })),
  'hosted members': count => [Object.fromEntries(list(count, index => [`web_search_${index}`, {}]))],
  'unknown kinds': count => list(count, index => ({ type: `t${index}`, name: 'n' })),
  'members of a tool': count => [{ name: 'f', ...members(count) }],
  ...inSchema(schema => [{ name: 'f', input_schema: schema }])
}
const blockFormats = inSchema(schema => ({ type: 'json_schema', schema }))
const messagesInput = { messages: blockMessages, system: systems, tools: blockTools }
const messagesChoice: Makers = { members: count => ({ type: 'auto', ...members(count) }) }
const outputConfigs: Makers = { ...within(blockFormats, format => ({ format })), members: count => members(count) }

// Contents.

const contents: Makers = {
  plain: count => list(count, () => ({ role: 'user', parts: [{ text: 'a' }] })),
  'streamed turns': count => [
    { role: 'user', parts: [{ text: 'a' }] },
    ...list(count, () => ({ role: 'model', parts: [{ text: 'a' }] })),
    { role: 'model', parts: [{ text: '' }] }
  ],
  'ends of streams': count =>
    numbers(count).flatMap((): JsonObject[] => [
      { role: 'model', parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ text: '' }] }
    ]),
  parts: count => [{ role: 'user', parts: list(count, () => ({ text: 'a' })) }],
  thoughts: count => [
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'model', parts: list(count, () => ({ text: 'a', thought: true, thoughtSignature: 'YWE=' })) }
  ],
  'parts without effect': count => [
    { role: 'user', parts: list<JsonObject>(count, () => ({ executableCode: {} })).concat({ text: 'a' }) }
  ],
  files: count => [{ role: 'user', parts: list(count, index => ({ fileData: { fileUri: `files/${index}` } })) }],
  images: count => [
    {
      role: 'user',
      parts: list(count, index => ({ file_data: { file_uri: `https://a/${index}`, mime_type: 'image/png' } }))
    }
  ],
  'inline data': count => [
    { role: 'user', parts: list(count, () => ({ inlineData: { mimeType: 'image/png', data: 'YQ' } })) }
  ],
  'calls and results': count => [
    { role: 'model', parts: list(count, index => ({ functionCall: { name: `f${index % 7}` } })) },
    { role: 'function', parts: list(count, index => ({ functionResponse: { name: `f${index % 7}`, response: {} } })) }
  ],
  'calls and results with ids': count => [
    { role: 'model', parts: list(count, index => ({ functionCall: { id: `c${index}`, name: 'f' } })) },
    { role: 'user', parts: list(count, index => ({ functionResponse: { id: `c${count - 1 - index}`, name: 'f' } })) }
  ],
  'turns of a call and a result': count =>
    numbers(count).flatMap((): JsonObject[] => [
      { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f' } }] }
    ]),
  'files of one result': count => [
    { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'f', parts: list(count, index => ({ fileData: { fileUri: `files/${index}` } })) } }
      ]
    }
  ],
  'results with a file': count => [
    { role: 'model', parts: list(count, () => ({ functionCall: { name: 'f' } })) },
    ...list(count, index => ({
      role: 'user',
      parts: [{ functionResponse: { name: 'f', parts: [{ fileData: { fileUri: `files/${index}` } }] } }]
    }))
  ],
  'members of a part': count => [{ role: 'user', parts: [{ text: 'a', ...members(count) }] }],
  'members of a call': count => [
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'model', parts: [{ functionCall: { name: 'f', args: members(count) } }] }
  ]
}
const instructions: Makers = { parts: count => ({ parts: list(count, () => ({ text: 'a' })) }) }
const declarations: Makers = {
  declarations: count => [{ functionDeclarations: list(count, index => ({ name: `f${index}` })) }],
  tools: count => list(count, index => ({ functionDeclarations: [{ name: `f${index}` }] })),
  hosted: count => list(count, () => ({ googleSearch: {} })),
  'hosted members': count => [Object.fromEntries(list(count, index => [`googleSearch_${index}`, {}]))],
  'members of a hosted tool': count => [{ googleSearch: members(count) }, { web_search: members(count) }],
  'unknown members': count => [members(count)],
  'members of a declaration': count => [{ functionDeclarations: [{ name: 'f', ...members(count) }] }],
  ...within(openApiSchemas, schema => [{ functionDeclarations: [{ name: 'f', parameters: schema, response: schema }] }])
}
const toolConfigs: Makers = {
  'allowed names': count => ({ functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: list(count, () => 'f') } }),
  members: count => members(count)
}
const contentInput = { contents, systemInstruction: instructions, tools: declarations }
/** The snake-case spellings that are folded at the top of a body. */
const folded: Makers = { members: count => Object.fromEntries(list(count, index => [`a_b${index}`, index])) }

// Operations.

const nativeOptions: NativeOptions = {
  v1Base: '/v1',
  v2Base: '/v2',
  isImageInputEnabled: true,
  jsonObjectMode: 'reject',
  parallelToolCalls: 'auto',
  attachmentLimits: {
    audioBytesMax: 1e9,
    imageBytesMax: 1e9,
    textBytesMax: 1e9,
    audioAndImageBytesMax: 1e9
  }
}
const settings: ChatConfiguration = {
  routes: {
    aliases: new Map(),
    dynamic: {
      profileId: 'main',
      providerKind: 'native',
      passModel: true,
      defaultModel: 'm',
      defaultEmbeddingsModel: 'e'
    }
  },
  providerOptions: { main: nativeOptions }
}
const environment = { settings, faces: providerFaces, decodeTokens, estimateTokens }
const contracts: readonly ApiMode[] = ['v1', 'v2']
const face = findProviderFace(providerFaces, { providerKind: 'native', apiMode: 'v1' })

/** The headers of the request: as many hop-by-hop names as a head may have. */
const connection = list(4000, index => `h${index}`).join(',')

/** Without headers of the body the cost of this is the same for every size. */
function planHeaders(extraHeaders: JsonObject | undefined): void {
  if (extraHeaders === undefined) return
  planUpstreamHeaders({ headers: { connection }, extraHeaders, requestId })
}

/** The contract of a provider that speaks the client's own protocol. */
export const OWN_WIRE = 'own wire'

/** What speaks each client protocol. */
const ownKinds: Readonly<Record<ClientProtocol, Pick<AliasRoute, 'providerKind' | 'wire'>>> = {
  completions: { providerKind: 'chat_compatible' },
  responses: { providerKind: 'chat_compatible', wire: 'responses' },
  messages: { providerKind: 'messages_compatible' },
  content: { providerKind: 'content_compatible' }
}

function chat(protocol: ClientProtocol): Operation['run'] {
  const context = protocol === 'content' ? { requestId, path: { model: 'm', isStream: false } } : { requestId }
  const translate = (apiMode: ApiMode, where: typeof environment) => (bytes: Uint8Array) => {
    const { request } = translateChat({ protocol, apiMode, bytes, context }, where)
    planHeaders(request.extraHeaders)
  }
  const run = contracts.map((apiMode): [string, (bytes: Uint8Array) => void] => [
    apiMode,
    translate(apiMode, environment)
  ])
  return Object.fromEntries([[OWN_WIRE, translate('v1', serveBy(ownKinds[protocol]))], ...run])
}

/** The alias of all bodies on a provider of a kind, which reads texts only. */
function serveBy(kind: Pick<AliasRoute, 'providerKind' | 'wire'>): typeof environment {
  const capabilities = {
    features: [...BASE_FEATURES, 'text', 'function_tools'],
    outputTokensMax: 1000,
    contextWindow: 1_000_000
  }
  const alias = { profileId: 'own', ...kind, upstreamModel: 'gemini-3', slotKey: '', capabilities }
  const options = {
    chatPath: '',
    responsesPath: '',
    messagesPath: '',
    countTokensPath: '',
    modelsPath: '/models',
    embeddingsPath: ''
  }
  const routes = { aliases: new Map([['m', alias]]) }
  return { ...environment, settings: { routes, providerOptions: { own: options } } }
}

type ReadTexts = (body: JsonObject) => { texts: string[]; extraHeaders?: JsonObject | undefined }

function embed(read: ReadTexts): Operation['run'] {
  return writeTexts(read, texts => face.embeddings?.write({ model: 'e', input: texts }, nativeOptions))
}

function count(read: ReadTexts): Operation['run'] {
  return writeTexts(read, texts => face.countTokens?.write({ model: 'm', input: texts }, nativeOptions))
}

function writeTexts(read: ReadTexts, write: (texts: string[]) => WrittenPost | undefined): Operation['run'] {
  return {
    v1: bytes => {
      const { texts, extraHeaders } = read(readJsonObject(bytes))
      planHeaders(extraHeaders)
      JSON.stringify(write(texts)?.body)
    }
  }
}

/** Extra members of a body that no table knows. */
export const UNKNOWN = '(unknown members)'

export const operations: readonly Operation[] = [
  {
    name: 'completions',
    tables: [{ table: chatParameters }],
    smallest: { model: 'm', messages: [{ role: 'user', content: 'a' }], tools: [{ type: 'function', name: 'f' }] },
    makers: {
      model: plain,
      messages: chatMessages,
      stream: plain,
      stream_options: { members: count => members(count) },
      max_completion_tokens: plain,
      max_output_tokens: plain,
      stop: stops,
      ...chatToolMembers,
      ...sampling,
      response_format: formats,
      reasoning_effort: plain,
      reasoning,
      ...extraMembers,
      ...nativeFields,
      [UNKNOWN]: additional
    },
    run: chat('completions')
  },
  {
    name: 'responses',
    tables: [{ table: responsesParameters }],
    smallest: { model: 'm', input: 'a', tools: [{ type: 'function', name: 'f' }] },
    makers: {
      model: plain,
      input: inputs,
      instructions: plain,
      stream: plain,
      max_output_tokens: plain,
      stop: stops,
      ...chatToolMembers,
      ...sampling,
      text: {
        ...inSchema(schema => ({ format: { type: 'json_schema', name: 'a', schema } })),
        members: count => members(count)
      },
      response_format: formats,
      reasoning_effort: plain,
      reasoning,
      previous_response_id: plain,
      conversation: { members: count => ({ id: 'a', ...members(count) }) },
      store: plain,
      ...extraMembers,
      ...nativeFields,
      [UNKNOWN]: additional
    },
    run: chat('responses')
  },
  {
    name: 'messages',
    tables: [{ table: messagesParameters }],
    smallest: { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'a' }], tools: [{ name: 'f' }] },
    makers: {
      model: plain,
      ...messagesInput,
      stream: plain,
      ...sampling,
      top_k: plain,
      stop_sequences: stops,
      tool_choice: messagesChoice,
      thinking: { members: count => ({ type: 'disabled', ...members(count) }) },
      output_config: outputConfigs,
      output_format: blockFormats,
      ...extraMembers,
      ...nativeFields,
      [UNKNOWN]: additional
    },
    run: chat('messages')
  },
  {
    name: 'content',
    tables: [{ table: contentParameters }, { table: generationParameters, at: 'generationConfig' }],
    smallest: {
      contents: [{ role: 'user', parts: [{ text: 'a' }] }],
      tools: [{ functionDeclarations: [{ name: 'f' }] }]
    },
    makers: {
      ...contentInput,
      toolConfig: toolConfigs,
      generationConfig: {
        ...folded,
        ...within(openApiSchemas, schema => ({ responseMimeType: 'application/json', responseSchema: schema })),
        ...within(jsonSchemas, schema => ({ responseMimeType: 'application/json', responseJsonSchema: schema }))
      },
      extra_headers: headers,
      labels: { members: count => members(count, () => 'a') },
      temperature: plain,
      topP: plain,
      topK: plain,
      seed: plain,
      presencePenalty: plain,
      frequencyPenalty: plain,
      maxOutputTokens: plain,
      stopSequences: stops,
      responseMimeType: plain,
      responseSchema: plain,
      responseJsonSchema: plain,
      thinkingConfig: { members: count => members(count) },
      [UNKNOWN]: folded
    },
    run: chat('content')
  },
  {
    name: 'embeddings',
    tables: [{ table: embeddingsParameters }],
    smallest: { model: 'e', input: 'a' },
    makers: {
      input: {
        texts: count => list(count, () => 'a'),
        tokens: count => list(count, index => index),
        'lists of tokens': count => list(count, () => [1]),
        'tokens of one list': count => [list(count, index => index)]
      },
      model: plain,
      encoding_format: plain,
      dimensions: plain,
      extra_headers: headers,
      [UNKNOWN]: folded
    },
    run: embed(body => {
      const { input, ...rest } = readEmbeddingsRequest(body)
      return { texts: input.type === 'texts' ? input.texts : [], ...rest }
    })
  },
  {
    name: 'embedContent',
    tables: [{ table: embedContentParameters }],
    smallest: { content: { parts: [{ text: 'a' }] } },
    makers: {
      content: { parts: count => ({ parts: list(count, () => ({ text: 'a' })) }) },
      outputDimensionality: plain,
      taskType: plain,
      title: plain,
      extra_headers: headers,
      [UNKNOWN]: folded
    },
    run: embed(readEmbedContentRequest)
  },
  {
    name: 'batchEmbedContents',
    tables: [{ table: batchEmbedContentsParameters }],
    smallest: { requests: [{ content: 'a' }] },
    makers: {
      requests: {
        texts: count => list(count, () => ({ content: 'a' })),
        parts: count => [{ content: { parts: list(count, () => ({ text: 'a' })) } }]
      },
      extra_headers: headers,
      [UNKNOWN]: folded
    },
    run: embed(readBatchEmbedContentsRequest)
  },
  {
    name: 'count_tokens',
    tables: [{ table: messagesCountParameters }],
    smallest: { model: 'm', messages: [{ role: 'user', content: 'a' }] },
    makers: {
      model: plain,
      ...messagesInput,
      tool_choice: messagesChoice,
      output_config: outputConfigs,
      output_format: blockFormats,
      ...extraMembers,
      [UNKNOWN]: additional
    },
    run: count(body => {
      const { request, texts } = readMessagesCount(body, { requestId })
      return { texts, extraHeaders: request.extraHeaders }
    })
  },
  {
    name: 'countTokens',
    tables: [{ table: contentCountParameters }],
    smallest: { contents: [{ parts: [{ text: 'a' }] }] },
    makers: {
      ...contentInput,
      generateContentRequest: {
        ...within(contents, value => ({ contents: value })),
        ...within(declarations, value => ({ tools: value }))
      },
      extra_headers: headers,
      [UNKNOWN]: folded
    },
    run: count(readContentCount)
  }
]

export interface RequestList {
  /** Such as `completions messages: parts`. */
  name: string
  /** A number of items whose eightfold is within the bounds of the list. */
  size: number
  /** The contracts on which the list is read and written. */
  contracts: string[]
  write(count: number): Uint8Array
}

/** More members than an object has in its fast form, so that both sizes are objects of one form. */
const SIZE = 1200
/** Eight times as many are fewer than the tools that a request may declare. */
const TOOLS_SIZE = 500
const TOOL_MEMBERS: ReadonlySet<string> = new Set(['tools', 'functions', 'tool_choice', 'toolConfig'])

/** Every list of an operation. Throws for a supported member without an entry, so that no new member stays without a test. */
export function listsOf(operation: Operation): RequestList[] {
  const lists: RequestList[] = []
  const contracts = Object.keys(operation.run)
  const isEnough = (contract: string) => contract === OWN_WIRE || contract === contracts.at(-1)
  const add = (member: string, { any, own }: { any: Makers; own: Makers }, write: (value: JsonValue) => JsonObject) => {
    for (const [name, make] of Object.entries({ ...any, ...own })) {
      const body = (size: number) => ({ ...operation.smallest, ...write(make(size)) })
      lists.push({
        name: `${operation.name} ${member}: ${name}`,
        size: TOOL_MEMBERS.has(member) && !(name in openApiSchemas) ? TOOLS_SIZE : SIZE,
        // A list of a wrong type is refused before the contract matters, but for a provider of the client's own protocol.
        contracts: own[name] === undefined ? contracts.filter(isEnough) : contracts,
        write: size => Buffer.from(JSON.stringify(body(size)))
      })
    }
  }
  for (const { table, at } of operation.tables) {
    for (const [member, { class: treatment }] of Object.entries(table)) {
      const own = operation.makers[member]
      if (own === undefined && treatment === 'supported') throw new Error(`${operation.name}: no list for '${member}'.`)
      const any = treatment === 'supported' ? anyLists : ignoredLists
      const place = (value: JsonValue) => (at === undefined ? { [member]: value } : { [at]: { [member]: value } })
      add(at === undefined ? member : `${at}.${member}`, { any, own: own ?? plain }, place)
    }
  }
  const inUnknown = within(anyLists, value => ({ a: value }))
  add(UNKNOWN, { any: inUnknown, own: operation.makers[UNKNOWN] ?? plain }, value => value as JsonObject)
  return lists
}

/** Reads and writes a body on a contract. A refusal is an end like any other: it must be cheap too. */
export function runBody(run: (bytes: Uint8Array) => void, bytes: Uint8Array): 'read' | 'refused' {
  try {
    run(bytes)
    return 'read'
  } catch (error) {
    if (GatewayError.is(error)) return 'refused'
    throw error
  }
}
