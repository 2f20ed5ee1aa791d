import t from 'tap'
import type { JsonObject, JsonValue } from '../../../../../worker/normalized/index.ts'
import { failure, read, refusedAt } from './support.ts'

const toolsOf = (...tools: JsonValue[]) => read({ tools }).tools
const schema = { type: 'object', properties: { city: { type: 'string' } } }
const weather = { name: 'get_weather', description: 'Weather', input_schema: schema }
const time = { name: 'get_time', input_schema: schema }
const choiceOf = (choice: JsonValue, ...tools: JsonValue[]) => read({ tools, tool_choice: choice }).toolChoice
const refusedChoice = (choice: JsonValue, ...tools: JsonValue[]) =>
  failure(() => {
    const { refusal } = read({ tools, tool_choice: choice })
    if (refusal !== undefined) throw refusal
  })

t.test('a function is read with its schema unchanged', async t => {
  const odd = { $defs: { A: { enum: [1, '2', null] } }, anyOf: [{ $ref: '#/$defs/A' }, true], type: ['object', 'null'] }
  const [read] = toolsOf({ ...weather, type: 'custom', input_schema: odd, strict: true, cache_control: null })
  t.strictSame(read, {
    type: 'function',
    name: 'get_weather',
    parameters: odd,
    description: 'Weather',
    strict: true,
    memberPaths: { strict: 'tools[0].strict' }
  })
  t.equal(read?.type === 'function' && read.parameters, odd)
})

t.test('parameters is another name of the schema, and a missing schema is empty', async t => {
  t.strictSame(toolsOf({ name: 'f', type: null, parameters: schema }), [
    { type: 'function', name: 'f', parameters: schema }
  ])
  t.strictSame(toolsOf({ name: 'f', description: '' }), [
    { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, description: '' }
  ])
  t.equal(refusedAt({ tools: [{ name: 'f', input_schema: true }] }), 'tools[0].input_schema')
  t.equal(refusedAt({ tools: [{ name: 'f', description: 3 }] }), 'tools[0].description')
  t.equal(refusedAt({ tools: {} }), 'tools')
})

t.test('entries that cannot be called are dropped', async t => {
  t.strictSame(toolsOf(null, 'f', 3, {}, { name: '' }, { name: ' ' }, { description: 'd' }), [])
})

t.test('tools of the original service become hosted tools', async t => {
  const cases: Array<[type: string, kind: string]> = [
    ['web_search', 'web_search'],
    ['web_search_20250305', 'web_search'],
    ['web_fetch_20250910', 'url_content_extraction'],
    ['code_execution_20250825', 'code_interpreter'],
    ['code_execution', 'code_interpreter'],
    ['image_generation', 'image_generate'],
    ['image_generate', 'image_generate'],
    ['url_content_extraction', 'url_content_extraction'],
    ['model_3d_generate', 'model_3d_generate'],
    ['code_interpreter', 'code_interpreter']
  ]
  for (const [type, kind] of cases) {
    t.strictSame(toolsOf({ type, name: 'n' }), [
      { type: 'hosted', kind, sentType: type, config: {}, path: 'tools[0].type' }
    ])
  }
})

t.test('only the members of a built-in tool that the provider has are kept', async t => {
  const search = {
    type: 'web_search_20250305',
    name: 'web_search',
    max_uses: 3,
    user_location: { type: 'approximate' },
    allowed_domains: ['a'],
    blocked_domains: ['b'],
    cache_control: {},
    strict: true,
    allowed_callers: ['direct']
  }
  t.strictSame(toolsOf({ ...search, indexes: ['i'], flags: ['f'] }), [
    {
      type: 'hosted',
      kind: 'web_search',
      sentType: 'web_search_20250305',
      config: { indexes: ['i'], flags: ['f'] },
      path: 'tools[0].type'
    }
  ])
  t.strictSame(toolsOf(search)[0], {
    type: 'hosted',
    kind: 'web_search',
    sentType: 'web_search_20250305',
    config: {},
    path: 'tools[0].type'
  })
  t.match(
    toolsOf({ type: 'web_search', web_search: { type: 'actual_info_web_search', size: 2 } })[0],
    { config: { type: 'actual_info_web_search', size: 2 } },
    'and the member with options for the provider, unchanged'
  )
  t.match(toolsOf({ type: 'code_execution_20250522', name: 'code_execution', max_uses: 1, indexes: [] })[0], {
    config: {},
    path: 'tools[0].type'
  })
})

t.test(
  'tool names of coding agents are built-in tools only when the client does not run them itself (B11)',
  async t => {
    for (const [name, kind] of [
      ['WebSearch', 'web_search'],
      ['WebFetch', 'url_content_extraction'],
      ['CodeExecution', 'code_interpreter']
    ] as const) {
      t.match(toolsOf({ name })[0], { type: 'hosted', kind, sentType: name, path: 'tools[0].name' }, name)
      t.match(toolsOf({ name, input_schema: { type: 'object', properties: {} } })[0], { type: 'hosted', kind })
      t.match(toolsOf({ name, input_schema: schema })[0], { type: 'function', name })
    }
    t.match(toolsOf({ name: 'web_search' })[0], { type: 'function', name: 'web_search' }, 'other names are functions')
  }
)

t.test('unsupported tools are kept only for diagnostics', async t => {
  const types = [
    ...['bash_20250124', 'text_editor_20250728', 'computer_20250124', 'browser_toolset_20260801'],
    ...['computer_toolset_20260801', 'memory_20250818', 'tool_search_tool_bm25_20251119', 'advisor', 'mcp_toolset']
  ]
  for (const type of types) {
    t.strictSame(toolsOf({ type, name: 'n' }), [
      { type: 'unsupported', sentType: type, definition: { type, name: 'n' }, path: 'tools[0].type' }
    ])
  }
  t.match(toolsOf({ type: 'function', name: 'f', parameters: schema })[0], { type: 'function', name: 'f' })
})

t.test('every type of tool choice is read (B6)', async t => {
  t.strictSame(choiceOf({ type: 'auto' }, weather), { type: 'auto' })
  t.strictSame(choiceOf({ type: 'none' }, weather), { type: 'none' })
  t.strictSame(choiceOf({ type: 'any' }, weather), { type: 'required' })
  t.strictSame(choiceOf({ type: 'tool', name: 'get_weather' }, weather, time), {
    type: 'function',
    name: 'get_weather'
  })
  t.notOk('toolChoice' in read({ tool_choice: null }))
})

t.test('a built-in tool is chosen by its declared name', async t => {
  const search: JsonObject = { type: 'web_search_20250305', name: 'web_search' }
  const hosted = { type: 'hosted', kind: 'web_search' }
  t.strictSame(choiceOf({ type: 'tool', name: 'web_search' }, search), hosted)
  t.strictSame(choiceOf({ type: 'tool', name: 'web_search' }, { type: 'web_search' }), hosted)
  t.strictSame(choiceOf({ type: 'tool', name: 'WebSearch' }, { name: 'WebSearch' }), hosted)
  t.strictSame(
    choiceOf({ type: 'tool', name: 'web_search' }, search, { name: 'web_search', input_schema: schema }),
    { type: 'function', name: 'web_search' },
    'unless a function has the same name'
  )
})

t.test('the choice of an undeclared or unsupported tool is refused', async t => {
  const at = (param: string, code = 'invalid_request') => ({ code, param, status: 400 })
  t.strictSame(refusedChoice({ type: 'tool', name: 'other' }, weather), at('tool_choice.name'))
  t.strictSame(refusedChoice({ type: 'tool' }, weather), at('tool_choice.name'))
  t.strictSame(refusedChoice({ type: 'required' }, weather), at('tool_choice.type'))
  t.strictSame(refusedChoice({}, weather), at('tool_choice.type'))
  t.strictSame(refusedChoice('auto', weather), at('tool_choice'))
  const bash = { type: 'bash_20250124', name: 'bash' }
  t.strictSame(refusedChoice({ type: 'tool', name: 'bash' }, bash), at('tool_choice.name', 'unsupported_semantic'))
})

t.test('parallel calls can be requested and refused, and a silent client does neither (B7)', async t => {
  const readDisabled = (value: JsonValue) => read({ tool_choice: { type: 'auto', disable_parallel_tool_use: value } })
  t.match(readDisabled(false), { parallelToolCalls: 'requested' })
  t.match(readDisabled(true), { parallelToolCalls: 'refused' })
  for (const silent of [readDisabled(null), read({})]) t.notOk('parallelToolCalls' in silent)
  t.equal(
    refusedAt({ tool_choice: { type: 'auto', disable_parallel_tool_use: 'no' } }),
    'tool_choice.disable_parallel_tool_use'
  )
})
