import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { read, refusedAt } from './support.ts'

const A = { name: 'A' }
const B = { name: 'B' }
const declare = (...functionDeclarations: JsonObject[]): JsonObject => ({ tools: [{ functionDeclarations }] })

function choose(functionCallingConfig: JsonObject | string, tools: JsonObject = declare(A, B)): JsonObject {
  return { ...tools, toolConfig: { functionCallingConfig } }
}

const config = 'toolConfig.functionCallingConfig'

t.test('a function without a schema has one for an empty object', async t => {
  t.strictSame(read(declare({ name: 'f', description: 'does', behavior: 'BLOCKING' })).tools, [
    { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, description: 'does' }
  ])
})

t.test("a JSON Schema stays unchanged, the protocol's own schema is converted (B10, E3)", async t => {
  const schema = {
    $defs: { A: { type: ['string', 'null'] } },
    anyOf: [{ $ref: '#/$defs/A' }, true],
    nullable: true,
    propertyOrdering: ['a']
  }
  const [given, converted] = read(
    declare(
      { name: 'f', parametersJsonSchema: schema, responseJsonSchema: schema },
      { name: 'g', parameters: { type: 'OBJECT' }, response: { type: 'STRING' } }
    )
  ).tools
  const path = 'tools[0].functionDeclarations'
  t.strictSame(given, {
    type: 'function',
    name: 'f',
    parameters: schema,
    returnParameters: schema,
    memberPaths: { returnParameters: `${path}[0].responseJsonSchema` }
  })
  t.strictSame(converted, {
    type: 'function',
    name: 'g',
    parameters: { type: 'object' },
    returnParameters: { type: 'string' },
    memberPaths: { returnParameters: `${path}[1].response` }
  })
})

t.test('the members of a declaration have two spellings', async t => {
  const parameters = { type: 'object', properties: { a: { type: 'string' } } }
  const [tool] = read({
    tools: [
      {
        function_declarations: [
          { name: 'f', parameters_json_schema: parameters, response_json_schema: { type: 'string' } }
        ]
      }
    ]
  }).tools
  t.strictSame(tool, {
    type: 'function',
    name: 'f',
    parameters,
    returnParameters: { type: 'string' },
    memberPaths: { returnParameters: 'tools[0].function_declarations[0].response_json_schema' }
  })
})

t.test('an empty list of allowed names is an unset one', async t => {
  for (const [mode, choice] of [
    ['AUTO', { type: 'auto' }],
    ['ANY', { type: 'required' }],
    ['NONE', { type: 'none' }]
  ] as const) {
    t.strictSame(read(choose({ mode, allowedFunctionNames: [] })).toolChoice, choice, mode)
    t.strictSame(read(choose({ mode, allowed_function_names: [] })).toolChoice, choice, mode)
  }
})

t.test('content 27: a function with both kinds of schema is refused', async t => {
  t.equal(
    refusedAt(declare({ name: 'f', parameters: {}, parametersJsonSchema: {} })),
    'tools[0].functionDeclarations[0].parametersJsonSchema'
  )
})

t.test('tools of a wrong shape are refused with their path', async t => {
  t.equal(refusedAt({ tools: 'x' }), 'tools')
  t.equal(refusedAt({ tools: [3] }), 'tools[0]')
  t.equal(refusedAt({ tools: [{ functionDeclarations: 'x' }] }), 'tools[0].functionDeclarations')
  t.equal(refusedAt({ tools: [{}, { function_declarations: ['x'] }] }), 'tools[1].function_declarations[0]')
  const path = 'tools[0].functionDeclarations[0]'
  t.equal(refusedAt(declare({})), `${path}.name`)
  t.equal(refusedAt(declare({ name: '' })), `${path}.name`)
  t.equal(refusedAt(declare({ name: 'f', description: 3 })), `${path}.description`)
  t.equal(refusedAt(declare({ name: 'f', parameters: 'x' })), `${path}.parameters`)
  t.equal(refusedAt(declare({ name: 'f', parametersJsonSchema: true })), `${path}.parametersJsonSchema`)
})

t.test('an object may replace a list, and one entry may hold several tools', async t => {
  t.strictSame(
    read({ tools: { googleSearch: null, urlContext: {}, functionDeclarations: { name: 'f' } } }).tools.map(tool =>
      tool.type === 'hosted' ? tool.kind : tool.type
    ),
    ['url_content_extraction', 'function']
  )
})

t.test('hosted tools are recognised by the words of the protocol and of the upstream', async t => {
  const words: Array<[string, string]> = [
    ['googleSearch', 'web_search'],
    ['googleSearchRetrieval', 'web_search'],
    ['google_search_retrieval', 'web_search'],
    ['webSearch', 'web_search'],
    ['urlContext', 'url_content_extraction'],
    ['urlContentExtraction', 'url_content_extraction'],
    ['codeExecution', 'code_interpreter'],
    ['code_interpreter', 'code_interpreter'],
    ['imageGenerate', 'image_generate'],
    ['imageGeneration', 'image_generate'],
    ['model_3d_generate', 'model_3d_generate']
  ]
  for (const [word, kind] of words) {
    t.strictSame(read({ tools: [{ [word]: {} }] }).tools, [
      { type: 'hosted', kind, sentType: word, config: {}, path: `tools[0].${word}` }
    ])
  }
})

t.test('tools that no provider can run are kept for diagnostics', async t => {
  const words = [
    'fileSearch',
    'googleMaps',
    'computerUse',
    'mcpServers',
    'retrieval',
    'enterpriseWebSearch',
    'exaAiSearch',
    'parallelAiSearch'
  ]
  for (const word of words) {
    t.strictSame(read({ tools: [{ [word]: { a: 1 } }] }).tools, [
      { type: 'unsupported', sentType: word, definition: { a: 1 }, path: `tools[0].${word}` }
    ])
  }
})

t.test('only configuration members that the upstream supports are kept', async t => {
  const configOf = (tool: JsonObject) => {
    const [read_] = read({ tools: [tool] }).tools
    return read_?.type === 'hosted' ? read_.config : undefined
  }
  const search = { type: 'actual_info_web_search', indexes: ['a'], flags: ['b'] }
  const family = { timeRangeFilter: {}, exclude_domains: ['a'], dynamicRetrievalConfig: {}, searchTypes: {} }
  t.strictSame(configOf({ googleSearch: { ...search, ...family, other: 1 } }), search)
  t.strictSame(configOf({ webSearch: { ...search, ...family, other: 1 } }), { ...search, other: 1 })
  t.strictSame(configOf({ codeExecution: { other: 1 } }), {})
  t.strictSame(configOf({ urlContext: { other: 1 } }), {})
  t.strictSame(configOf({ imageGenerate: { style: 'x' } }), { style: 'x' })
  t.strictSame(configOf({ codeExecution: true }), {})
})

t.test('modes are read in any letter case (B6)', async t => {
  for (const mode of ['AUTO', 'auto', 'MODE_UNSPECIFIED', 'Validated', undefined]) {
    t.strictSame(read(choose(mode === undefined ? {} : { mode })).toolChoice, { type: 'auto' }, String(mode))
    t.strictSame(read(choose({ ...(mode === undefined ? {} : { mode }), allowedFunctionNames: ['A'] })).toolChoice, {
      type: 'allowed',
      mode: 'auto',
      names: ['A']
    })
  }
  t.strictSame(read(choose({ mode: 'any' })).toolChoice, { type: 'required' })
  t.strictSame(read(choose({ mode: 'ANY', allowedFunctionNames: ['B'] })).toolChoice, {
    type: 'allowed',
    mode: 'required',
    names: ['B']
  })
  t.strictSame(read(choose({ mode: 'NONE' })).toolChoice, { type: 'none' })
  const withSearch = choose({ mode: 'none' }, { tools: [{ functionDeclarations: [A] }, { googleSearch: {} }] })
  t.strictSame(read(withSearch).toolChoice, { type: 'allowed', mode: 'auto', names: [] })
  t.notOk('toolChoice' in read(declare(A)))
  t.notOk('toolChoice' in read({ ...declare(A), toolConfig: {} }))
})

t.test('content 30: a required call without declared functions is refused', async t => {
  t.equal(refusedAt(choose({ mode: 'ANY' }, {})), `${config}.mode`)
  t.equal(refusedAt(choose({ mode: 'ANY' }, { tools: [{ googleSearch: {} }] })), `${config}.mode`)
})

t.test('content 33: an allowed name that is not declared is refused', async t => {
  const names = `${config}.allowedFunctionNames`
  t.equal(refusedAt(choose({ mode: 'ANY', allowedFunctionNames: ['A', 'C'] })), `${names}[1]`)
  t.equal(refusedAt(choose({ mode: 'AUTO', allowedFunctionNames: [''] })), `${names}[0]`)
  t.equal(refusedAt(choose({ mode: 'AUTO', allowedFunctionNames: [3] })), `${names}[0]`)
  t.equal(refusedAt(choose({ mode: 'AUTO', allowedFunctionNames: 'A' })), names)
})

t.test('a choice of a wrong shape is refused', async t => {
  t.equal(refusedAt(choose({ mode: 'SOME' })), `${config}.mode`)
  t.equal(refusedAt(choose({ mode: 1 })), `${config}.mode`)
  t.equal(refusedAt(choose('ANY')), config)
  t.equal(refusedAt({ toolConfig: [] }), 'toolConfig')
})

t.test('other members of the tool configuration are listed as ignored', async t => {
  t.strictSame(read({ toolConfig: { retrieval_config: { a: 1 }, includeServerSideToolInvocations: true } }).ignored, {
    'toolConfig.retrievalConfig': { a: 1 },
    'toolConfig.includeServerSideToolInvocations': true
  })
})
