// Tools on both wires: declarations, names, and the tool choice.

import t from 'tap'
import type {
  HostedToolKind,
  JsonObject,
  NormalizedRequest,
  NormalizedTool,
  ParallelToolCalls,
  ToolChoice
} from '../../../../worker/normalized/index.ts'
import { nativeV1Face } from '../../../../worker/protocols/native/v1/face.ts'
import { nativeV2Face } from '../../../../worker/protocols/native/v2/face.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../support/growth.ts'
import { fieldPaths, makeRequest, openReader, plainOptions } from './support.ts'

const f = (name: string, more: object = {}): NormalizedTool => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
  ...more
})
const hosted = (kind: HostedToolKind, config: JsonObject = {}): NormalizedTool => ({
  type: 'hosted',
  kind,
  sentType: kind,
  config
})

function write(contract: 'v1' | 'v2', members: Partial<NormalizedRequest>, model = 'GigaChat-2') {
  const writeRequest = contract === 'v1' ? nativeV1Face.writeChat : nativeV2Face.writeChat
  return writeRequest(makeRequest(members), { upstreamModel: model }, plainOptions)
}

/** The declarations and the tool choice of a body. */
function tools(contract: 'v1' | 'v2', declared: NormalizedTool[], toolChoice?: ToolChoice, more: object = {}) {
  const members = { tools: declared, ...(toolChoice === undefined ? {} : { toolChoice }), ...more }
  const { body } = write(contract, members)
  const { functions, function_call, tools, tool_config } = body
  return JSON.parse(JSON.stringify({ functions, function_call, tools, tool_config })) as Record<string, unknown>
}

const schema: JsonObject = {
  type: 'object',
  properties: {
    a: { $ref: '#/$defs/A' },
    b: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
    c: true,
    d: { type: ['integer', 'null'], enum: [1, 2, null], default: null },
    e: {}
  },
  required: ['a'],
  additionalProperties: false,
  $defs: { A: { type: 'object', properties: { next: { $ref: '#/$defs/A' } } } }
}

t.test('a schema is sent unchanged on both wires', async t => {
  const declared = [
    f('f', { parameters: schema, returnParameters: schema, fewShotExamples: [{ request: 'r', params: {} }] })
  ]
  const expected = {
    name: 'f',
    parameters: schema,
    few_shot_examples: [{ request: 'r', params: {} }],
    return_parameters: schema
  }
  t.strictSame(tools('v1', declared), { functions: [expected] })
  t.strictSame(tools('v2', declared), { tools: [{ functions: { specifications: [expected] } }] })
})

t.test('an absent description and null extras are not sent', async t => {
  const declared = [
    f('f', { strict: true, fewShotExamples: null, returnParameters: null }),
    f('g', { description: 'G' })
  ]
  t.strictSame(tools('v1', declared), {
    functions: [
      { name: 'f', parameters: { type: 'object', properties: {} } },
      { name: 'g', description: 'G', parameters: { type: 'object', properties: {} } }
    ]
  })
})

t.test('hosted tools come before the entry of functions on v2, and are not sent on v1', async t => {
  const declared = [
    f('f'),
    hosted('web_search', { indexes: ['w'], none: null }),
    hosted('code_interpreter'),
    hosted('web_search')
  ]
  t.match(tools('v2', declared), {
    tools: [
      { web_search: { indexes: ['w'] } },
      { code_interpreter: {} },
      { functions: { specifications: [{ name: 'f' }] } }
    ]
  })
  t.notMatch(JSON.stringify(tools('v2', declared)), /null/)
  t.strictSame(Object.keys(tools('v1', declared)), ['functions'])
  t.strictSame(tools('v1', [hosted('web_search')]), {})
  t.strictSame(tools('v1', [{ type: 'unsupported', sentType: 'mcp', definition: {} }]), {})
})

t.test('a function of a namespace has a flat name on the wire, and the reader gets its namespace', async t => {
  const { body, reading } = write('v1', { tools: [f('run', { namespace: 'shell' }), f('x', { namespace: 'n__' })] })
  t.match(body.functions, [{ name: 'shell__run' }, { name: 'n__x' }])
  t.strictSame(
    [...reading.toolNames],
    [
      ['shell__run', { name: 'run', namespace: 'shell' }],
      ['n__x', { name: 'x', namespace: 'n__' }]
    ]
  )
})

t.test("a function with the name of one of the upstream's tools has an alias everywhere (B11)", async t => {
  const messages = [
    {
      role: 'assistant' as const,
      content: [{ type: 'tool-call' as const, id: 'c', name: 'web_search', arguments: {} }]
    },
    {
      role: 'tool' as const,
      content: [{ type: 'tool-result' as const, callId: 'c', content: [], isError: false, path: 'p' }]
    }
  ]
  const members = { messages, tools: [f('web_search')], toolChoice: { type: 'function' as const, name: 'web_search' } }
  for (const contract of ['v1', 'v2'] as const) {
    const { body } = write(contract, members)
    t.notMatch(JSON.stringify(body), /"web_search"/)
    t.equal(JSON.stringify(body).match(/__gateway_user_search_web/g)?.length, 4)
  }
  const { reading } = write('v1', members)
  const events = openReader(nativeV1Face, { reading }).readBody(
    Buffer.from(
      '{"choices":[{"message":{"function_call":{"name":"__gateway_user_search_web"}},"finish_reason":"function_call"}]}'
    )
  )
  t.match(events[1], { type: 'tool-call-start', name: 'web_search' })
})

t.test('names that the upstream does not accept get unique replacements, which the reader reverses', async t => {
  const long = 'n'.repeat(70)
  const names = ['a.b', 'a_b', 'a b', 'имя', long, `${long}x`, 'image_generate', 'code_interpreter']
  const { body, reading } = write('v1', { tools: names.map(name => f(name)) })
  const wire = (body.functions as JsonObject[]).map(declared => String(declared.name))
  t.strictSame(wire.slice(0, 4), ['a_b_2', 'a_b', 'a_b_3', '___'])
  t.equal(new Set(wire).size, names.length)
  for (const name of wire) t.match(name, /^[A-Za-z0-9_-]{1,64}$/)
  t.strictSame(
    wire.map(name => reading.toolNames.get(name)?.name ?? name),
    names
  )
})

const two = [f('a'), f('b')]
const anyTool = { mode: 'forced' }

t.test('the tool choice auto declares the tools and sends no choice', async t => {
  for (const choice of [undefined, { type: 'auto' as const }]) {
    t.strictSame(Object.keys(tools('v1', two, choice)), ['functions'])
    t.strictSame(Object.keys(tools('v2', two, choice)), ['tools'])
  }
})

t.test('the legacy form sends the word auto on v1', async t => {
  const legacy = { usesLegacyFunctions: true }
  t.equal(tools('v1', two, { type: 'auto' }, legacy).function_call, 'auto')
  t.equal(tools('v1', two, undefined, legacy).function_call, undefined)
  t.equal(tools('v1', [], { type: 'auto' }, legacy).function_call, undefined)
  t.equal(tools('v2', two, { type: 'auto' }, legacy).tool_config, undefined)
})

t.test('the choice none removes functions and hosted tools', async t => {
  t.strictSame(tools('v1', [f('a'), hosted('web_search')], { type: 'none' }), {})
  t.strictSame(tools('v2', [f('a'), hosted('web_search')], { type: 'none' }), {})
})

t.test('a named function is forced (B6)', async t => {
  const choice = { type: 'function' as const, name: 'b' }
  t.strictSame(tools('v1', two, choice).function_call, { name: 'b' })
  t.strictSame(tools('v2', two, choice).tool_config, { mode: 'forced', function_name: 'b' })
  const inNamespace = [f('run', { namespace: 'shell' })]
  for (const name of ['run', 'shell__run']) {
    t.strictSame(tools('v2', inNamespace, { type: 'function', name }).tool_config, {
      mode: 'forced',
      function_name: 'shell__run'
    })
  }
})

t.test('a hosted tool is forced on v2 and refused on v1 (B6)', async t => {
  const choice = { type: 'hosted' as const, kind: 'web_search' as const }
  t.strictSame(tools('v2', [hosted('web_search')], choice).tool_config, { mode: 'forced', tool_name: 'web_search' })
  t.throws(() => tools('v1', [hosted('web_search')], choice), { code: 'unsupported_semantic', param: 'tool_choice' })
})

t.test('the choice of an undeclared tool is refused (B6)', async t => {
  const undeclared = { code: 'invalid_request', param: 'tool_choice' }
  for (const contract of ['v1', 'v2'] as const) {
    t.throws(() => tools(contract, two, { type: 'function', name: 'c' }), undeclared)
  }
  t.throws(() => tools('v2', two, { type: 'hosted', kind: 'web_search' }), undeclared)
  const paths = { ...fieldPaths, toolChoice: 'toolConfig.functionCallingConfig' }
  t.throws(() => tools('v1', two, { type: 'function', name: 'c' }, { fieldPaths: paths }), {
    code: 'invalid_request',
    param: 'toolConfig.functionCallingConfig'
  })
})

t.test('the choice required: the only candidate by name, several without a name on v2, else refused (B6)', async t => {
  const required = { type: 'required' as const }
  const refused = { code: 'unsupported_semantic', param: 'tool_choice' }
  t.strictSame(tools('v1', [f('a')], required).function_call, { name: 'a' })
  t.strictSame(tools('v1', [f('a'), hosted('web_search')], required).function_call, { name: 'a' })
  t.strictSame(tools('v2', [f('a')], required).tool_config, { mode: 'forced', function_name: 'a' })
  t.strictSame(tools('v2', [f('a'), hosted('web_search')], required).tool_config, {
    mode: 'forced',
    function_name: 'a'
  })
  t.strictSame(tools('v2', two, required).tool_config, anyTool)
  t.strictSame(tools('v2', [hosted('web_search')], required).tool_config, { mode: 'forced', tool_name: 'web_search' })
  t.strictSame(tools('v2', [hosted('web_search'), hosted('code_interpreter')], required).tool_config, anyTool)
  t.throws(() => tools('v1', two, required), refused)
  t.throws(() => tools('v1', [hosted('web_search')], required), refused)
  for (const contract of ['v1', 'v2'] as const) t.throws(() => tools(contract, [], required), refused)
})

t.test('an allow-list filters the declarations and then acts as auto or required', async t => {
  const allow = (mode: 'auto' | 'required', ...names: string[]) => ({ type: 'allowed' as const, mode, names })
  t.match(tools('v1', two, allow('auto', 'b')), { functions: [{ name: 'b' }], function_call: undefined })
  t.equal((tools('v1', two, allow('auto', 'b')).functions as unknown[]).length, 1)
  t.strictSame(tools('v1', two, allow('required', 'b')).function_call, { name: 'b' })
  t.strictSame(tools('v2', [...two, f('c')], allow('required', 'a', 'b')).tool_config, anyTool)
  t.throws(() => tools('v2', two, allow('required', 'c')), { code: 'unsupported_semantic' })
})

t.test('the reader reports a response without a call when any tool was required', async t => {
  const { reading } = write('v2', { tools: two, toolChoice: { type: 'required' } })
  t.equal(reading.expectsToolCall, true)
  t.equal(write('v2', { tools: [f('a')], toolChoice: { type: 'required' } }).reading.expectsToolCall, false)
  const names: string[] = []
  const read = (body: string) =>
    openReader(nativeV1Face, { reading, onAnomaly: name => names.push(name) }).readBody(Buffer.from(body))
  t.match(read('{"choices":[{"message":{"content":"no"},"finish_reason":"stop"}]}').at(-1), { reason: 'stop' })
  t.strictSame(names, ['forced_tool_call_missing'])
  read('{"choices":[{"message":{"function_call":{"name":"a"}},"finish_reason":"function_call"}]}')
  t.equal(names.length, 1)
})

t.test('parallel calls are switched on for the largest v2 model only, unless the client refuses them', async t => {
  const ask = (contract: 'v1' | 'v2', model: string, parallelToolCalls?: ParallelToolCalls) => {
    const members = { tools: two, ...(parallelToolCalls === undefined ? {} : { parallelToolCalls }) }
    const { body, reading } = write(contract, members, model)
    t.equal(reading.buffersToolCalls, body.parallel_tool_calls === true)
    return body.parallel_tool_calls
  }
  for (const model of ['GigaChat-2-Max', 'GigaChat-2-Max:2.0', 'gigachat-2-max', 'GigaChat-2-Max-preview']) {
    t.equal(ask('v2', model, 'requested'), true, model)
  }
  for (const model of ['GigaChat-2', 'GigaChat-2-Maxi', 'GigaChat-2-Max_x', 'GigaChat-Max']) {
    t.equal(ask('v2', model, 'requested'), undefined, model)
  }
  t.equal(ask('v2', 'GigaChat-2-Max', 'refused'), undefined)
  t.equal(ask('v2', 'GigaChat-2-Max'), true)
  t.equal(ask('v1', 'GigaChat-2-Max', 'requested'), undefined)
  t.equal(ask('v1', 'GigaChat-2-Max'), undefined)
})

t.test('thousands of names with the same replacement get unique names in linear time', async t => {
  const namesOf = (count: number) =>
    Array.from({ length: count }, (_, index) => f(String.fromCodePoint(0x4e00 + index)))
  const names = tools('v1', namesOf(200)).functions as Array<{ name: string }>
  t.equal(new Set(names.map(({ name }) => name)).size, 200)
  const growth = measureGrowth(500, count => {
    const declared = namesOf(count)
    return () => write('v1', { tools: declared })
  })
  t.ok(growth < LINEAR_GROWTH_MAX, `${growth.toFixed(1)} times as long`)
})
