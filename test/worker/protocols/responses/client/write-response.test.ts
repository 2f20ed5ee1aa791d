import t from 'tap'
import type { EventAssembler, JsonObject } from '../../../../../worker/normalized/index.ts'
import { mapStatus, writeUsage } from '../../../../../worker/protocols/responses/client/write-response.ts'
import { eventsOf, requestId, responseContext, writeResponse } from './support.ts'

const output = (build: (assembler: EventAssembler) => void, body: JsonObject = {}) =>
  writeResponse(eventsOf(build), body).output
const echo = (body: JsonObject) =>
  writeResponse(
    eventsOf(() => undefined),
    body
  )

t.test('a plain response has every member, with the defaults of the operation', async t => {
  const response = writeResponse(
    eventsOf(assembler => {
      assembler.text('Hello')
      const usage = {
        inputTokens: 17,
        cacheReadTokens: 4,
        cacheWriteTokens: null,
        outputTokens: 3,
        reasoningTokens: null,
        totalTokens: 20
      }
      assembler.finish({ reason: 'stop', providerReason: 'stop', metadata: { upstream_x_request_id: 'x' } }, usage)
    })
  )
  t.strictSame(response, {
    id: `resp_${requestId}`,
    object: 'response',
    created_at: 1_795_187_162,
    completed_at: 1_795_187_165,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'GigaChat-2',
    output: [
      {
        id: `msg_${requestId}`,
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }]
      }
    ],
    usage: {
      input_tokens: 17,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 20,
      prompt_tokens_details: { cached_tokens: 4 }
    },
    metadata: { upstream_x_request_id: 'x' },
    instructions: null,
    max_output_tokens: null,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    access_programs: null,
    background: false,
    frequency_penalty: 0,
    max_tool_calls: null,
    presence_penalty: 0,
    prompt_cache_key: null,
    prompt_cache_retention: null,
    safety_identifier: null,
    service_tier: 'default',
    top_logprobs: 0
  })
})

t.test(
  'decisions.md 91: members without effect are repeated where they have the type of the public object',
  async t => {
    const request = {
      frequency_penalty: 0.5,
      max_tool_calls: 3,
      presence_penalty: -1,
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      safety_identifier: 's',
      service_tier: 'flex',
      top_logprobs: 2
    }
    t.match(echo(request), request)
    const defaults = echo({})
    const wrong = Object.fromEntries(Object.keys(request).map(name => [name, { a: 1 }]))
    t.strictSame(echo(wrong), defaults)
    // Nothing runs in the background.
    t.equal(echo({ background: true }).background, false)
  }
)

t.test('the request echo does not depend on the messages', async t => {
  const context = responseContext({ instructions: 'be', tools: [{ type: 'web_search' }] })
  t.same(context.request.echo, {
    members: { instructions: 'be', tools: [{ type: 'web_search' }] },
    userText: 'hi'
  })
})

t.test('reasoning is repeated with its effort, its summary and its other members', async t => {
  t.strictSame(echo({ reasoning: { effort: 'high', summary: 'auto' } }).reasoning, { effort: 'high', summary: 'auto' })
  t.strictSame(echo({ reasoning_effort: 'low' }).reasoning, { effort: 'low', summary: null })
  t.strictSame(echo({ reasoning: { effort: 'none', context: 'auto' } }).reasoning, {
    effort: 'none',
    summary: null,
    context: 'auto'
  })
})

t.test('text is repeated and always has a format', async t => {
  t.strictSame(echo({ text: { verbosity: 'low' } }).text, { format: { type: 'text' }, verbosity: 'low' })
  t.strictSame(echo({ text: { format: null } }).text, { format: { type: 'text' } })
  const format = { type: 'json_schema', name: 'n', schema: { type: 'object' } }
  t.strictSame(echo({ text: { format } }).text, { format })
})

t.test('responses 50: unsupported tools are repeated, and absent members of functions are null', async t => {
  const tools = [
    { type: 'mcp', server_label: 'm' },
    { type: 'file_search', vector_store_ids: ['v'] },
    { type: 'function', name: 'g', parameters: { type: 'object' }, strict: true },
    { type: 'function', name: 'h' }
  ]
  t.strictSame(echo({ tools }).tools, [
    tools[0],
    tools[1],
    { ...tools[2], description: null },
    { type: 'function', name: 'h', description: null, parameters: null, strict: null }
  ])
  t.strictSame(echo({ tools: [{ type: 'function', function: { name: 'g', parameters: {} } }, 'x'] }).tools, [
    { type: 'function', name: 'g', description: null, parameters: {}, strict: null }
  ])
  // A custom tool without a format takes text.
  const custom = { type: 'custom', name: 'c' }
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' }
  t.strictSame(echo({ tools: [custom, { ...custom, format: null }, { ...custom, format }] }).tools, [
    { ...custom, format: { type: 'text' } },
    { ...custom, format: { type: 'text' } },
    { ...custom, format }
  ])
})

t.test('metadata are short strings of the request and of the upstream, which wins', async t => {
  const events = eventsOf(assembler => {
    assembler.finish({ reason: 'stop', providerReason: null, metadata: { upstream_message_id: 'm' } }, null)
  })
  t.strictSame(writeResponse(events, { metadata: { k: 'v', n: 3, long: 'x'.repeat(513) } }).metadata, {
    k: 'v',
    upstream_message_id: 'm'
  })
})

t.test('responses 25, 26, 27: store is true when the request asks the upstream to store the conversation', async t => {
  t.equal(echo({ store: true }).store, true)
  t.equal(echo({ store: false }).store, false)
  t.equal(echo({}).store, false)
  t.equal(echo({ previous_response_id: 'resp_th', store: false }).store, true)
  t.equal(echo({ extra_body: { storage: { limit: 5 } } }).store, true)
  t.equal(echo({ storage: true }).store, true)
  t.equal(echo({ storage: false }).store, false)
})

t.test('the response id has the thread id of the upstream or of the request, or else the request id (F4)', async t => {
  const id = (body: JsonObject, conversationId?: string) => {
    const events = eventsOf(assembler => {
      const stored = conversationId === undefined ? {} : { conversationId }
      assembler.finish({ reason: 'stop', providerReason: null, metadata: {}, ...stored }, null)
    })
    return writeResponse(events, body).id
  }
  t.equal(id({}), `resp_${requestId}`)
  t.equal(id({ store: true }, 'th7'), 'resp_th7')
  t.equal(id({ previous_response_id: 'resp_th' }), 'resp_th')
  t.equal(id({ previous_response_id: 'th' }), 'resp_th')
  t.equal(id({ previous_response_id: 'resp_th', storage: { thread_id: 'given' } }), 'resp_given')
  t.equal(id({ previous_response_id: 'resp_th' }, 'th7'), 'resp_th7')
})

t.test('responses 56: reasoning is an item before the message, and later reasoning is another item', async t => {
  const written = output(assembler => {
    assembler.reasoning('one')
    assembler.text('a')
    assembler.reasoning('two')
    assembler.text('b')
  })
  t.strictSame(
    written.map(({ id, type }) => `${type} ${id.replace(requestId, 'q1')}`),
    ['reasoning rs_q1', 'message msg_q1', 'reasoning rs_q1_1', 'message msg_q1_1']
  )
  t.strictSame(written[0], {
    id: `rs_${requestId}`,
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'one' }]
  })
})

t.test('responses 51: a call has its ids, its arguments as text and no null members', async t => {
  t.strictSame(
    output(assembler => assembler.toolCall({ id: 'call_gw_A', name: 'g' }, '{"a": 1}')),
    [
      {
        id: 'fc_call_gw_A',
        type: 'function_call',
        status: 'completed',
        call_id: 'call_gw_A',
        name: 'g',
        arguments: '{"a": 1}'
      }
    ]
  )
})

t.test('responses 52: text before a call is a separate message', async t => {
  const written = output(assembler => {
    assembler.text('One moment.')
    assembler.toolCall({ id: 'call_gw_A', name: 'g' }, '')
  })
  t.match(written, [
    { type: 'message', status: 'completed' },
    { type: 'function_call', arguments: '{}' }
  ])
})

t.test('joined names are split by the declared namespaces of the request', async t => {
  const tools = [
    { type: 'namespace', name: 'ns', tools: [{ type: 'function', name: 'f' }] },
    { type: 'function', name: 'other__g' }
  ]
  const named = (name: string, namespace?: string) => {
    const head = namespace === undefined ? { id: 'a', name } : { id: 'a', name, namespace }
    const [item] = output(assembler => assembler.toolCall(head, '{}'), { tools })
    return item?.type === 'function_call' ? [item.name, item.namespace] : undefined
  }
  t.strictSame(named('ns__f'), ['f', 'ns'])
  t.strictSame(named('f', 'ns'), ['f', 'ns'])
  t.strictSame(named('other__g'), ['other__g', undefined])
})

t.test(
  'responses 54, 55: a response that the provider cut is incomplete with a reason, and so is its last item',
  async t => {
    const cut = (reason: 'length' | 'content-filter' | 'cancelled') =>
      writeResponse(
        eventsOf(assembler => {
          assembler.reasoning('hm')
          assembler.text('Once upon')
          assembler.finish({ reason, providerReason: reason, metadata: {} }, null)
        })
      )
    const { status, incomplete_details, output } = cut('length')
    t.strictSame(
      { status, incomplete_details },
      {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' }
      }
    )
    t.match(output, [{ type: 'reasoning' }, { type: 'message', status: 'incomplete' }])
    // Absent before decisions.md 91.
    t.equal(cut('length').completed_at, null)
    t.strictSame(cut('content-filter').incomplete_details, { reason: 'content_filter' })
    t.match(cut('cancelled'), { status: 'incomplete', incomplete_details: null })
    t.strictSame((['stop', 'tool-calls'] as const).map(mapStatus), ['completed', 'completed'])
  }
)

t.test('an empty response has an empty message', async t => {
  t.match(
    output(() => undefined),
    [{ type: 'message', status: 'completed', content: [{ type: 'output_text', text: '' }] }]
  )
  const cut = eventsOf(assembler => assembler.finish({ reason: 'length', providerReason: null, metadata: {} }, null))
  t.match(writeResponse(cut).output, [{ type: 'message', status: 'incomplete' }])
})

t.test('responses 57: token details are numbers, also when the provider does not report them (D3)', async t => {
  const unknown = {
    inputTokens: null,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: null,
    reasoningTokens: null,
    totalTokens: null
  }
  t.equal(writeUsage(null), null)
  t.match(
    writeUsage({
      ...unknown,
      inputTokens: 10,
      cacheReadTokens: 4,
      cacheWriteTokens: null,
      outputTokens: 5,
      reasoningTokens: 2
    }),
    {
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15
    }
  )
  t.match(writeUsage({ ...unknown, cacheWriteTokens: 3 }), { input_tokens_details: { cache_write_tokens: 3 } })
  t.match(writeUsage(unknown), { input_tokens: 0, input_tokens_details: { cached_tokens: 0 }, total_tokens: 0 })
})

const search = { tools: [{ type: 'web_search' }] }

t.test('results of a search are in its item, and in the text that is open when they arrive', async t => {
  const found = { sources: { 1: { url: 'https://example.test/a' } } }
  const written = output(assembler => {
    const first = assembler.startHostedTool({ kind: 'web_search', name: 'web_search' })
    assembler.text('News.')
    assembler.citation({ type: 'url-citation', startIndex: 0, endIndex: 4, url: 'https://example.test/a', title: 'A' })
    assembler.endHostedTool(first, {
      status: 'completed',
      sources: [{ id: '1', url: 'https://example.test/a', title: 'A' }],
      inlineData: found
    })
    assembler.toolCall({ id: 'c', name: 'f' }, '{}')
    const late = assembler.startHostedTool({ kind: 'web_search', name: 'web_search' })
    assembler.text('More.')
    assembler.toolCall({ id: 'd', name: 'f' }, '{}')
    assembler.endHostedTool(late, { status: 'failed', inlineData: { images: [] } })
  }, search)
  t.match(written, [
    {
      id: `ws_${requestId}`,
      status: 'completed',
      action: { type: 'search', query: 'hi', sources: [{ type: 'url', url: 'https://example.test/a' }] }
    },
    {
      type: 'message',
      content: [
        {
          text: 'News.',
          annotations: [{ type: 'url_citation', start_index: 0, end_index: 4, title: 'A' }],
          inline_data: found
        }
      ]
    },
    { type: 'function_call' },
    { id: `ws_${requestId}_1`, status: 'failed', action: { sources: [] } },
    { type: 'message', content: [{ text: 'More.' }] },
    { type: 'function_call' }
  ])
  t.notOk(JSON.stringify(written.at(-2)).includes('inline_data'), 'results that arrive after the text are not in it')
})

t.test('an image is in its item, and without bytes its result is null; a 3D model has an item of its own', async t => {
  const written = output(assembler => {
    const run = assembler.startHostedTool({ kind: 'image_generate', name: 'image_generate' })
    assembler.endHostedTool(run, { status: 'completed' })
    assembler.file({ fileId: 'f1', mediaType: 'image/jpeg', target: 'image', base64: 'AAEC' })
    assembler.file({ fileId: 'f2', target: 'image' })
    assembler.file({ fileId: 'f3', target: '3dmodel' })
  })
  t.strictSame(written, [
    {
      id: `ig_${requestId}_0`,
      type: 'image_generation_call',
      status: 'completed',
      result: 'AAEC',
      file_id: 'f1',
      mime: 'image/jpeg',
      target: 'image'
    },
    {
      id: `ig_${requestId}_1`,
      type: 'image_generation_call',
      status: 'completed',
      result: null,
      file_id: 'f2',
      target: 'image'
    },
    {
      id: `m3d_${requestId}`,
      type: 'model_3d_generate_call',
      status: 'completed',
      file_id: 'f3',
      target: '3dmodel'
    }
  ])
})

t.test('an image belongs to the first run that has not failed before it arrives', async t => {
  const statuses = (build: (assembler: EventAssembler) => void) =>
    output(build).map(item => (item.type === 'image_generation_call' ? [item.status, item.result] : item.type))
  const image = { fileId: 'f1', target: 'image', base64: 'AAEC' }
  const tool = { kind: 'image_generate', name: 'image_generate' } as const
  const failedBefore = statuses(assembler => {
    assembler.endHostedTool(assembler.startHostedTool(tool), { status: 'failed' })
    assembler.file(image)
  })
  t.strictSame(failedBefore, [
    ['failed', null],
    ['completed', 'AAEC']
  ])
  const failedAfter = statuses(assembler => {
    const run = assembler.startHostedTool(tool)
    assembler.file(image)
    assembler.endHostedTool(run, { status: 'failed' })
  })
  t.strictSame(failedAfter, [['completed', 'AAEC']])
})

t.test(
  "responses 60: an image becomes a call of the client's own image tool, under every known name of the tool",
  async t => {
    const made = (assembler: EventAssembler) => {
      assembler.file({ fileId: 'f1', target: 'image', base64: 'AAEC' })
      assembler.file({ fileId: 'f2', target: 'image', base64: 'AAEC' })
    }
    const hosted = { type: 'image_generation' }
    const called = (tool: JsonObject) => {
      const items = output(made, { tools: [hosted, tool] })
      return items.map(item =>
        item.type === 'function_call' ? [item.name, item.namespace, item.arguments] : item.type
      )
    }
    const prompt = '{"prompt":"hi"}'
    for (const name of ['imagegen', 'image_gen', 'image_generate', 'Image-Gen', 'mcp__imagegen']) {
      t.strictSame(called({ type: 'function', name }), [[name, undefined, prompt]])
    }
    const namespaced = { type: 'namespace', name: 'image-gen', tools: [{ type: 'function', name: 'ImageGen' }] }
    t.strictSame(called(namespaced), [['ImageGen', 'image-gen', prompt]])
    const picture = ['image_generation_call', 'image_generation_call']
    t.strictSame(called({ type: 'function', name: 'imagegenerator' }), picture)
    t.strictSame(called({ ...namespaced, name: 'pictures' }), picture)
  }
)
