// What the other families' requests are on the Responses wire (bridge.md 8.9, decisions.md 86).

import t from 'tap'
import { GatewayError, type JsonObject } from '../../../../../worker/normalized/index.ts'
import { type Protocol, write } from './support.ts'

const parameters = { type: 'object', properties: { a: { type: 'number' } } }
const hi: JsonObject = { role: 'user', content: 'hi' }
const prompt = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }
const chatTools = [{ type: 'function', function: { name: 'f', description: 'd', parameters } }]
const written = { type: 'function', name: 'f', description: 'd', parameters, strict: false }

/** The error of a body that cannot be written. */
function refusal(protocol: Protocol, body: JsonObject): [code: string, param: string | undefined] {
  try {
    write(protocol, body)
  } catch (error) {
    if (GatewayError.is(error)) return [error.code, error.param]
    throw error
  }
  throw new Error('The body was written.')
}

t.test('a text of every family', async t => {
  const bodies: Record<Protocol, JsonObject> = {
    completions: { model: 'm', messages: [hi] },
    responses: { model: 'm', input: 'hi' },
    messages: { model: 'm', max_tokens: 100, messages: [hi] },
    content: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
  }
  for (const [protocol, body] of Object.entries(bodies) as Array<[Protocol, JsonObject]>) {
    const call = write(protocol, body)
    t.same(call.body, {
      model: 'exact-model',
      input: [prompt],
      store: false,
      include: ['reasoning.encrypted_content'],
      ...(protocol === 'messages' ? { max_output_tokens: 100 } : {})
    })
    t.equal(call.path, '/v1/responses')
    t.equal(write(protocol, { ...body, stream: true }, { isStream: true }).body.stream, true)
  }
})

t.test('instructions are the texts of the system before everything else', async t => {
  const { body } = write('completions', {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: 'Be kind.' },
      hi,
      { role: 'developer', content: 'Now in German.' },
      { role: 'system', content: 'And rhyme.' }
    ]
  })
  t.equal(body.instructions, 'Be brief.\n\nBe kind.')
  t.same(body.input, [
    prompt,
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Now in German.' }] },
    { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'And rhyme.' }] }
  ])
})

t.test('images and files of every family, and those of tool results', async t => {
  const png = 'data:image/png;base64,AAAA'
  const pdf = 'data:application/pdf;base64,BBBB'
  const image = { type: 'input_image', image_url: png, detail: 'auto' }
  const file = { type: 'input_file', filename: 'document.pdf', file_data: pdf }
  const inputs: Array<[Protocol, JsonObject, object[]]> = [
    [
      'completions',
      {
        model: 'm',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'hi' },
              { type: 'image_url', image_url: { url: png, detail: 'low' } }
            ]
          }
        ]
      },
      [{ ...image, detail: 'low' }]
    ],
    [
      'messages',
      {
        model: 'm',
        max_tokens: 50,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'hi' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
            ]
          }
        ]
      },
      [image]
    ],
    [
      'content',
      {
        contents: [
          {
            role: 'user',
            parts: [
              { text: 'hi' },
              { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
              { inlineData: { mimeType: 'application/pdf', data: 'BBBB' } }
            ]
          }
        ]
      },
      [image, file]
    ]
  ]
  for (const [protocol, body, media] of inputs) {
    const [message] = write(protocol, body).body.input as JsonObject[]
    t.same(message?.content, [{ type: 'input_text', text: 'hi' }, ...media], protocol)
  }
  const { body } = write('messages', {
    model: 'm',
    max_tokens: 50,
    messages: [
      hi,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [
              { type: 'text', text: 'seen' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
            ]
          }
        ]
      }
    ],
    tools: [{ name: 'f', input_schema: parameters }]
  })
  t.same((body.input as JsonObject[])[2], {
    type: 'function_call_output',
    call_id: 'toolu_1',
    output: [{ type: 'input_text', text: 'seen' }, image]
  })
})

t.test('media that the model does not get: described in the history, refused in the newest turn', async t => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const look: JsonObject = { role: 'user', content: [{ type: 'text', text: 'look' }, image] }
  const turns: JsonObject[] = [look, { role: 'assistant', content: 'I see.' }, hi]
  const { body, leftOut } = write('completions', { model: 'm', messages: turns }, { features: ['text'] })
  t.match((body.input as JsonObject[])[0], {
    content: [{ text: 'look' }, { text: /^\[image\/png, 3 bytes: this model/ }]
  })
  t.equal(leftOut?.length, 1)
  t.throws(() => write('completions', { model: 'm', messages: [look] }, { features: ['text'] }), {
    code: 'unsupported_semantic'
  })
  const pictures = write('content', {
    contents: [
      { role: 'user', parts: [{ text: 'hi' }] },
      { role: 'model', parts: [{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
      { role: 'user', parts: [{ text: 'nice' }] }
    ]
  })
  t.match(pictures.body.input, [
    prompt,
    { role: 'assistant', content: [{ text: 'Here.' }] },
    { role: 'user', content: [{ type: 'input_image' }, { text: 'nice' }] }
  ])
})

t.test('tools, their choice and strictness', async t => {
  const rows: Array<[more: JsonObject, expected: object]> = [
    [{ tools: chatTools }, { tools: [written] }],
    [
      { tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters, strict: true } }] },
      { tools: [{ ...written, strict: true }] }
    ],
    [
      { tools: chatTools, tool_choice: 'required', parallel_tool_calls: false },
      { tools: [written], tool_choice: 'required', parallel_tool_calls: false }
    ],
    [
      { tools: chatTools, tool_choice: 'none' },
      { tools: [written], tool_choice: 'none' }
    ],
    [
      { tools: chatTools, tool_choice: { type: 'function', function: { name: 'f' } } },
      { tools: [written], tool_choice: { type: 'function', name: 'f' } }
    ]
  ]
  for (const [more, expected] of rows) {
    const { body } = write('completions', { model: 'm', messages: [hi], ...more })
    const { tools, tool_choice, parallel_tool_calls } = body
    t.same(JSON.parse(JSON.stringify({ tools, tool_choice, parallel_tool_calls })), expected)
  }
  t.same(
    refusal('completions', {
      model: 'm',
      messages: [hi],
      tools: chatTools,
      tool_choice: { type: 'function', function: { name: 'g' } }
    }),
    ['invalid_request', 'tool_choice']
  )
})

t.test('hosted tools that the wire has are sent, others are left out beside them', async t => {
  const search = {
    type: 'web_search_20250305',
    name: 'web_search',
    max_uses: 3,
    user_location: { type: 'approximate', timezone: 'Europe/Zurich' }
  }
  const { body, leftOut } = write('messages', {
    model: 'm',
    max_tokens: 50,
    messages: [hi],
    tools: [search, { type: 'web_fetch_20250910', name: 'web_fetch' }, { name: 'f', input_schema: parameters }]
  })
  t.same(body.tools, [
    { type: 'function', name: 'f', parameters, strict: false },
    {
      type: 'web_search',
      user_location: { type: 'approximate', timezone: 'Europe/Zurich' }
    }
  ])
  t.match(leftOut, [/^tools\[1\]/])
  t.equal(
    refusal('messages', {
      model: 'm',
      max_tokens: 50,
      messages: [hi],
      tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }]
    })[0],
    'unsupported_semantic'
  )
})

t.test('reasoning is asked for where the alias declares it', async t => {
  const body: JsonObject = {
    model: 'm',
    max_tokens: 20000,
    messages: [hi],
    thinking: { type: 'enabled', budget_tokens: 9000 }
  }
  t.same(write('messages', body).body.reasoning, { effort: 'high', summary: 'auto' })
  t.same(
    write('messages', { ...body, thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'low' } })
      .body.reasoning,
    { effort: 'low' }
  )
  const undeclared = write('messages', body, { features: ['text'] }).body
  t.notOk('reasoning' in undeclared || 'include' in undeclared)
  t.same(write('completions', { model: 'm', messages: [hi], reasoning_effort: 'none' }).body.reasoning, {
    effort: 'none'
  })
  t.same(
    write('responses', { model: 'm', input: 'hi', reasoning: { effort: 'low', summary: 'detailed' } }).body.reasoning,
    {
      effort: 'low',
      summary: 'detailed'
    }
  )
})

t.test('output formats', async t => {
  const json = { type: 'json_schema', json_schema: { name: 'n', schema: parameters, strict: true } }
  t.same(write('completions', { model: 'm', messages: [hi], response_format: json }).body.text, {
    format: { type: 'json_schema', name: 'n', schema: parameters, strict: true }
  })
  const loose: JsonObject = { model: 'm', messages: [hi], response_format: { type: 'json_object' } }
  t.same(write('completions', loose).body.text, { format: { type: 'json_object' } })
  t.throws(() => write('completions', loose, { features: ['text'] }), { code: 'unsupported_response_format' })
})

t.test('an output limit below the least of the service is raised to it, and told', async t => {
  const low = write('messages', { model: 'm', max_tokens: 1, messages: [hi] })
  t.equal(low.body.max_output_tokens, 16)
  t.same(low.leftOut, ['max_tokens'])
  t.equal(write('messages', { model: 'm', max_tokens: 16, messages: [hi] }).leftOut, undefined)
})

t.test('stored state goes as the client of the wire wrote it', async t => {
  const { body } = write('responses', { model: 'm', input: 'hi', store: true, previous_response_id: 'resp_9' })
  t.match(body, { store: true, previous_response_id: 'resp_9' })
  t.notOk('include' in body)
})

t.test('calls and their results', async t => {
  const turn = (...ids: string[]): JsonObject => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":1}' } }))
  })
  const result = (id: string): JsonObject => ({ role: 'tool', tool_call_id: id, content: `of ${id}` })
  const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{"a":1}' })
  const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: `of ${id}` })
  const items = (...messages: JsonObject[]) => write('completions', { model: 'm', messages, tools: chatTools })
  t.same(items(hi, turn('a', 'b'), result('b'), result('a')).body.input, [
    prompt,
    call('a'),
    call('b'),
    output('b'),
    output('a')
  ])
  const abandoned = items(hi, turn('a', 'b'), result('a'), hi)
  t.same(abandoned.body.input, [prompt, call('a'), output('a'), prompt])
  t.equal(abandoned.reading.droppedToolCalls, 1)
  t.same(items(hi, turn('a')).body.input, [prompt, call('a')], 'a result may still come')
  const long = 'x'.repeat(90)
  const [, first, second] = items(hi, turn(long), result(long)).body.input as JsonObject[]
  t.equal(String(first?.call_id).length <= 64, true)
  t.equal(first?.call_id, second?.call_id)
  const failed = write('messages', {
    model: 'm',
    max_tokens: 50,
    messages: [
      hi,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', is_error: true, content: 'no such file' }]
      }
    ]
  })
  t.match((failed.body.input as JsonObject[])[2], { output: 'Error: no such file' })
})
