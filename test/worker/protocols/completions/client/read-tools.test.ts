import t from 'tap'
import type { JsonObject, JsonValue } from '../../../../../worker/normalized/index.ts'
import { failure, read, refusedAt } from './support.ts'

const noParameters = { type: 'object', properties: {} }
const schema = {
  type: 'object',
  properties: {
    a: { $ref: '#/$defs/A' },
    b: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
    c: true,
    d: { type: ['integer', 'null'], enum: [1, 2] },
    e: {}
  },
  required: ['a'],
  additionalProperties: false,
  $defs: { A: { type: 'object', properties: { next: { $ref: '#/$defs/A' } } } }
}
const toolsOf = (...tools: JsonValue[]) => read({ tools }).tools
const declared = [{ type: 'function', function: { name: 'f' } }, { type: 'web_search' }]
const choose = (choice: JsonValue, tools: JsonValue[] = declared) => read({ tools, tool_choice: choice }).toolChoice

t.test('a function is read from its nested, flat and typeless form', async t => {
  const expected = (strict: string) => [
    { type: 'function', name: 'f', parameters: schema, description: 'd', strict: true, memberPaths: { strict } }
  ]
  const nested = expected('tools[0].function.strict')
  const flat = expected('tools[0].strict')
  const definition = { name: 'f', description: 'd', parameters: schema, strict: true }
  t.strictSame(toolsOf({ type: 'function', function: definition }), nested)
  t.strictSame(toolsOf({ type: 'function', ...definition }), flat)
  t.strictSame(toolsOf(definition), flat)
  t.strictSame(toolsOf({ function: definition }), nested)
  t.strictSame(toolsOf({ name: 'f', description: 'd', input_schema: schema, strict: true }), flat)
})

t.test('a schema is the same object that the client sent (B10)', async t => {
  const [tool] = toolsOf({ type: 'function', function: { name: 'f', parameters: schema } })
  t.equal(tool?.type === 'function' && tool.parameters, schema)
})

t.test('only a missing schema is replaced', async t => {
  const expected = [{ type: 'function', name: 'f', parameters: noParameters }]
  t.strictSame(toolsOf({ type: 'function', function: { name: 'f' } }), expected)
  t.strictSame(toolsOf({ type: 'function', function: { name: 'f', parameters: null, description: null } }), expected)
  t.strictSame(toolsOf({ name: 'f' }), expected)
  t.strictSame(read({ functions: [{ name: 'f' }] }).tools, expected)
  t.strictSame(toolsOf({ type: 'function', function: { name: 'f', parameters: {} } }), [
    { type: 'function', name: 'f', parameters: {} }
  ])
})

t.test('a schema that is not an object is refused with its path', async t => {
  for (const parameters of [true, 'x', []]) {
    t.equal(
      refusedAt({ tools: [{ name: 'g' }, { type: 'function', function: { name: 'f', parameters } }] }),
      'tools[1].function.parameters'
    )
    t.equal(refusedAt({ tools: [{ type: 'function', name: 'f', parameters }] }), 'tools[0].parameters')
    t.equal(refusedAt({ tools: [{ name: 'f', input_schema: parameters }] }), 'tools[0].input_schema')
    t.equal(refusedAt({ functions: [{ name: 'f', parameters }] }), 'functions[0].parameters')
  }
})

t.test('examples and return parameters of a function are kept', async t => {
  const details = { few_shot_examples: [{ request: 'r', params: {} }], return_parameters: { type: 'object' } }
  t.strictSame(toolsOf({ type: 'function', function: { name: 'f', parameters: {}, ...details } }), [
    {
      type: 'function',
      name: 'f',
      parameters: {},
      fewShotExamples: details.few_shot_examples,
      returnParameters: details.return_parameters,
      memberPaths: {
        fewShotExamples: 'tools[0].function.few_shot_examples',
        returnParameters: 'tools[0].function.return_parameters'
      }
    }
  ])
})

t.test('entries without a name and entries that are not objects are dropped', async t => {
  t.strictSame(
    toolsOf('f', null, 3, {}, { type: 'function' }, { type: 'function', function: { name: '' } }, { name: ' ' }),
    []
  )
  t.equal(refusedAt({ tools: {} }), 'tools')
  t.equal(refusedAt({ tools: [{ type: 3, name: 'f' }] }), 'tools[0].type')
})

t.test('the functions of a namespace get its name', async t => {
  const tools = toolsOf({
    type: 'namespace',
    name: 'files',
    tools: [
      { type: 'function', name: 'open', parameters: schema },
      { type: 'function', function: { name: 'close' } },
      { type: 'web_search' }
    ]
  })
  t.strictSame(tools, [
    { type: 'function', name: 'open', parameters: schema, namespace: 'files' },
    { type: 'function', name: 'close', parameters: noParameters, namespace: 'files' }
  ])
  t.strictSame(toolsOf({ type: 'namespace', tools: [] }), [])
  t.equal(
    refusedAt({ tools: [{ type: 'namespace', name: 'n', tools: [{ name: 'f', parameters: 1 }] }] }),
    'tools[0].tools[0].parameters'
  )
})

t.test('hosted tools are recognised and tools of other kinds are kept for diagnostics', async t => {
  t.strictSame(toolsOf({ type: 'web_search_preview', indexes: ['w'] }, { type: 'mcp', server_label: 's' }), [
    {
      type: 'hosted',
      kind: 'web_search',
      sentType: 'web_search_preview',
      config: { indexes: ['w'] },
      path: 'tools[0].type'
    },
    {
      type: 'unsupported',
      sentType: 'mcp',
      definition: { type: 'mcp', server_label: 's' },
      path: 'tools[1].type'
    }
  ])
})

t.test('legacy functions are read only when there are no tools', async t => {
  const functions = [{ name: 'f', description: 'd', parameters: schema }]
  const legacy = read({ functions, tools: [] })
  t.equal(legacy.usesLegacyFunctions, true)
  t.strictSame(legacy.tools, [{ type: 'function', name: 'f', parameters: schema, description: 'd' }])
  const both = read({ functions, tools: [{ name: 'g' }] })
  t.equal(both.usesLegacyFunctions, false)
  t.match(both.tools, [{ name: 'g' }])
  t.strictSame(both.ignored, { functions })
  t.equal(refusedAt({ functions: {} }), 'functions')
})

t.test('every form of tool choice has one meaning (B6)', async t => {
  const cases: Array<[JsonValue, unknown]> = [
    ['auto', { type: 'auto' }],
    [{ type: 'auto' }, { type: 'auto' }],
    ['none', { type: 'none' }],
    [{ type: 'none' }, { type: 'none' }],
    ['required', { type: 'required' }],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'function', name: 'f' }
    ],
    [
      { type: 'function', name: 'f' },
      { type: 'function', name: 'f' }
    ],
    [{ function: { name: 'f' } }, { type: 'function', name: 'f' }],
    [{ type: 'web_search' }, { type: 'hosted', kind: 'web_search' }],
    [{ type: 'codeInterpreter' }, { type: 'hosted', kind: 'code_interpreter' }]
  ]
  for (const [choice, expected] of cases) t.strictSame(choose(choice), expected, JSON.stringify(choice))
  t.equal(read({ tools: declared, tool_choice: null }).toolChoice, undefined)
})

t.test('an unknown tool choice has no effect and is kept for diagnostics', async t => {
  for (const choice of ['any', { type: 'mcp' }, {}]) {
    const request = read({ tools: declared, tool_choice: choice })
    t.notOk('toolChoice' in request)
    t.strictSame(request.ignored, { tool_choice: choice })
  }
  t.equal(refusedAt({ tools: declared, tool_choice: 3 }), 'tool_choice')
})

t.test('the legacy function_call is read only without a tool_choice', async t => {
  const functions = [{ name: 'f' }]
  const choice = (body: JsonObject) => read({ functions, ...body }).toolChoice
  t.strictSame(choice({ function_call: { name: 'f' } }), { type: 'function', name: 'f' })
  t.strictSame(choice({ function_call: 'none' }), { type: 'none' })
  t.strictSame(choice({ function_call: 'auto' }), { type: 'auto' })
  t.strictSame(choice({ function_call: { name: 'f' }, tool_choice: 'none' }), { type: 'none' })
  t.equal(refusedAt({ functions, function_call: { name: 3 } }), 'function_call.name')
})

t.test('a chosen function that is not declared is refused', async t => {
  const refused = { code: 'invalid_request', param: 'tool_choice', status: 400 }
  const g = { type: 'function', function: { name: 'g' } }
  t.strictSame(
    failure(() => choose(g)),
    refused
  )
  t.strictSame(
    failure(() => choose(g, [])),
    refused
  )
  t.strictSame(
    failure(() => read({ functions: [{ name: 'f' }], function_call: { name: 'g' } })),
    refused
  )
  t.strictSame(
    failure(() => choose({ type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [g] } })),
    refused
  )
  t.equal(refusedAt({ tools: declared, tool_choice: { type: 'function' } }), 'tool_choice.name')
  t.equal(refusedAt({ tools: declared, tool_choice: { type: 'function', function: {} } }), 'tool_choice.function.name')
})

t.test('a chosen hosted tool that is not declared is read; only a provider can refuse it', async t => {
  t.strictSame(choose({ type: 'image_generation' }), { type: 'hosted', kind: 'image_generate' })
})

t.test('a function of a namespace is chosen by its flat name or by both names', async t => {
  const tools = [{ type: 'namespace', name: 'n', tools: [{ name: 'f' }] }]
  t.strictSame(choose({ type: 'function', function: { name: 'n__f' } }, tools), { type: 'function', name: 'n__f' })
  t.strictSame(choose({ type: 'function', name: 'f', namespace: 'n' }, tools), { type: 'function', name: 'n__f' })
})

t.test('an allow-list is read from both forms with its mode, functions and hosted tools', async t => {
  const tools = [{ type: 'function', function: { name: 'f' } }, { type: 'web_search_preview' }]
  const expected = { type: 'allowed', mode: 'required', names: ['f'], kinds: ['web_search'] }
  t.strictSame(choose({ type: 'allowed_tools', allowed_tools: { mode: 'required', tools } }), expected)
  const flat = {
    type: 'allowed_tools',
    mode: 'required',
    tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }]
  }
  t.strictSame(choose(flat), expected)
  t.match(choose({ type: 'allowed_tools', allowed_tools: { tools: [] } }), { mode: 'auto', names: [], kinds: [] })
  t.equal(
    refusedAt({ tools: declared, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'any' } } }),
    'tool_choice.allowed_tools.mode'
  )
  t.equal(refusedAt({ tools: declared, tool_choice: { type: 'allowed_tools', tools: ['f'] } }), 'tool_choice.tools[0]')
})

t.test('parallel_tool_calls is requested, refused or absent (B7)', async t => {
  t.equal(read({ parallel_tool_calls: true }).parallelToolCalls, 'requested')
  t.equal(read({ parallel_tool_calls: false }).parallelToolCalls, 'refused')
  t.notOk('parallelToolCalls' in read({ parallel_tool_calls: null }))
  t.equal(refusedAt({ parallel_tool_calls: 'yes' }), 'parallel_tool_calls')
})

t.test('a custom tool is a function of one text parameter, with the grammar in its description', async t => {
  const definition = 'start: "BEGIN"'
  const grammar = { syntax: 'lark', definition }
  const parameters = {
    type: 'object',
    properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
    required: ['input'],
    additionalProperties: false
  }
  const expected = {
    type: 'function',
    name: 'apply_patch',
    description: `edits files\n\nThe text of \`input\` must match this lark grammar:\n${definition}`,
    parameters,
    freeForm: { description: 'edits files', grammar }
  }
  const tool = { name: 'apply_patch', description: 'edits files' }
  for (const format of [
    { type: 'grammar', grammar },
    { type: 'grammar', ...grammar }
  ]) {
    t.strictSame(toolsOf({ type: 'custom', custom: { ...tool, format } }), [expected])
    t.strictSame(toolsOf({ type: 'custom', ...tool, format }), [expected])
  }
  const regex = { type: 'grammar', syntax: 'regex', definition: '^a+$' }
  t.match(toolsOf({ type: 'custom', name: 'r', format: regex }), [
    { description: 'The text of `input` must match this regular expression:\n^a+$' }
  ])
  for (const format of [undefined, null, { type: 'text' }, { type: 'grammar' }]) {
    t.strictSame(toolsOf({ type: 'custom', custom: { ...tool, format } }), [
      { ...expected, description: 'edits files', freeForm: { description: 'edits files' } }
    ])
    t.strictSame(toolsOf({ type: 'custom', name: 'c', format }), [
      { type: 'function', name: 'c', parameters, freeForm: {} }
    ])
  }
  t.match(toolsOf({ type: 'namespace', name: 'ns', tools: [{ type: 'custom', ...tool }] }), [
    { name: 'apply_patch', namespace: 'ns', freeForm: { description: 'edits files' } }
  ])
  t.strictSame(toolsOf({ type: 'custom' }, { type: 'custom', custom: { name: ' ' } }), [])
  t.equal(
    refusedAt({ tools: [{ type: 'custom', custom: { name: 'c', description: 3 } }] }),
    'tools[0].custom.description'
  )
  t.equal(refusedAt({ tools: [{ type: 'custom', name: 'c', format: 'text' }] }), 'tools[0].format')
})

t.test('a custom tool is chosen and allowed like a function', async t => {
  const tools = [{ type: 'custom', custom: { name: 'c' } }, ...declared]
  for (const choice of [
    { type: 'custom', custom: { name: 'c' } },
    { type: 'custom', name: 'c' }
  ]) {
    t.strictSame(choose(choice, tools), { type: 'function', name: 'c' })
    const allowed = { mode: 'required', tools: [choice, { type: 'function', function: { name: 'f' } }] }
    t.match(choose({ type: 'allowed_tools', allowed_tools: allowed }, tools), { type: 'allowed', names: ['c', 'f'] })
    t.equal(refusedAt({ tools: declared, tool_choice: choice }), 'tool_choice')
  }
})
