// Tools in every family with both contracts of the upstream: tool choices, loops of several turns,
// and invalid histories (field-lessons.md B6, B8, B9, B11, B12, B13, C3).

import t from 'tap'
import { type HttpResponse, lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { type AskOptions, askIn, type Family, families, readError, textIn } from './support.ts'

// The emulator refuses state ids that it did not return before.
const emulator = await startEmulator(t, { strictStateIds: true })
const gateway = await startGateway(t, { env: emulatorVariables(emulator) })

const versions = ['v1', 'v2'] as const
type Version = (typeof versions)[number]

function prefixOf(family: Family, version: Version): string {
  return family === 'content' && version === 'v1' ? '/v1beta' : `/${version}`
}

const schema = { type: 'object', properties: { x: { type: 'integer' } } }

function declare(family: Family, names: string[]): object {
  switch (family) {
    case 'completions':
      return { tools: names.map(name => ({ type: 'function', function: { name, parameters: schema } })) }
    case 'responses':
      return { tools: names.map(name => ({ type: 'function', name, parameters: schema })) }
    case 'messages':
      return { tools: names.map(name => ({ name, input_schema: schema })) }
    case 'content':
      return { tools: [{ functionDeclarations: names.map(name => ({ name, parametersJsonSchema: schema })) }] }
  }
}

type Choice = 'auto' | 'none' | 'some' | 'b'

function choose(family: Family, choice: Choice): object {
  switch (family) {
    case 'completions':
      if (choice === 'b') return { tool_choice: { type: 'function', function: { name: 'b' } } }
      return { tool_choice: choice === 'some' ? 'required' : choice }
    case 'responses':
      if (choice === 'b') return { tool_choice: { type: 'function', name: 'b' } }
      return { tool_choice: choice === 'some' ? 'required' : choice }
    case 'messages':
      if (choice === 'b') return { tool_choice: { type: 'tool', name: 'b' } }
      return { tool_choice: { type: choice === 'some' ? 'any' : choice } }
    case 'content': {
      const functionCallingConfig =
        choice === 'b'
          ? { mode: 'ANY', allowedFunctionNames: ['b'] }
          : { mode: choice === 'some' ? 'ANY' : choice.toUpperCase() }
      return { toolConfig: { functionCallingConfig } }
    }
  }
}

/** The declared names and the forced tool of the last upstream request. */
function readSent(): { names: string[]; forced: unknown } {
  const { path, body } = lastUpstreamChat(emulator)
  const isV1 = path.includes('/v1/')
  const functions =
    (isV1 ? body.functions : body.tools?.find((entry: object) => 'functions' in entry)?.functions.specifications) ?? []
  return {
    names: functions.map(({ name }: { name: string }) => name),
    forced: isV1 ? body.function_call : body.tool_config
  }
}

const byName = (version: Version, name: string): object =>
  version === 'v1' ? { name } : { mode: 'forced', function_name: name }

t.test('every tool choice has the same meaning in every family and on both contracts (B6)', async t => {
  for (const family of families) {
    for (const version of versions) {
      const send = (names: string[], choice: Choice) =>
        askIn(gateway, family, 'hi', {
          prefix: prefixOf(family, version),
          more: { ...declare(family, names), ...choose(family, choice) }
        })
      const name = `${family} ${version}`
      t.equal((await send(['a', 'b'], 'auto')).status, 200, name)
      t.strictSame(readSent(), { names: ['a', 'b'], forced: undefined }, `${name} auto`)
      t.equal((await send(['a', 'b'], 'none')).status, 200, name)
      t.strictSame(readSent(), { names: [], forced: undefined }, `${name} none`)
      t.equal((await send(['a'], 'some')).status, 200, name)
      t.strictSame(readSent(), { names: ['a'], forced: byName(version, 'a') }, `${name} some of one`)
      t.equal((await send(['a', 'b'], 'b')).status, 200, name)
      const sent = readSent()
      t.ok(sent.names.includes('b'), name)
      t.strictSame(sent.forced, byName(version, 'b'), `${name} by name`)
      const before = upstreamChats(emulator).length
      const some = await send(['a', 'b'], 'some')
      if (version === 'v2') {
        t.equal(some.status, 200, name)
        t.strictSame(readSent(), { names: ['a', 'b'], forced: { mode: 'forced' } }, `${name} some of two`)
      } else {
        t.equal(some.status, 400, name)
        readError(family, some)
        t.equal(upstreamChats(emulator).length, before, name)
      }
    }
  }
})

interface Call {
  id: string
  name: string
  input: object
}

/** The conversation of an agent in the form of its family. */
interface Conversation {
  body(): object
  /** Appends a response; returns its calls. */
  take(response: HttpResponse): Call[]
  answerCalls(calls: Call[], result: (call: Call) => object): void
}

function converse(family: Family, prompt: string): Conversation {
  // biome-ignore lint/suspicious/noExplicitAny: turns are copied from responses unchanged.
  const turns: any[] = []
  switch (family) {
    case 'completions':
      turns.push({ role: 'user', content: prompt })
      return {
        body: () => ({ messages: turns }),
        take({ json }) {
          const { message } = json.choices[0]
          turns.push(message)
          return (message.tool_calls ?? []).map(
            (call: { id: string; function: { name: string; arguments: string } }) => ({
              id: call.id,
              name: call.function.name,
              input: JSON.parse(call.function.arguments)
            })
          )
        },
        answerCalls(calls, result) {
          for (const call of calls) {
            turns.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result(call)) })
          }
        }
      }
    case 'responses':
      turns.push({ role: 'user', content: prompt })
      return {
        body: () => ({ input: turns }),
        take({ json }) {
          turns.push(...json.output)
          return json.output
            .filter(({ type }: { type: string }) => type === 'function_call')
            .map((item: { call_id: string; name: string; arguments: string }) => ({
              id: item.call_id,
              name: item.name,
              input: JSON.parse(item.arguments)
            }))
        },
        answerCalls(calls, result) {
          for (const call of calls) {
            turns.push({ type: 'function_call_output', call_id: call.id, output: JSON.stringify(result(call)) })
          }
        }
      }
    case 'messages':
      turns.push({ role: 'user', content: prompt })
      return {
        body: () => ({ messages: turns }),
        take({ json }) {
          turns.push({ role: 'assistant', content: json.content })
          return json.content
            .filter(({ type }: { type: string }) => type === 'tool_use')
            .map(({ id, name, input }: Call) => ({ id, name, input }))
        },
        answerCalls(calls, result) {
          turns.push({
            role: 'user',
            content: calls.map(call => ({
              type: 'tool_result',
              tool_use_id: call.id,
              content: JSON.stringify(result(call))
            }))
          })
        }
      }
    case 'content':
      turns.push({ role: 'user', parts: [{ text: prompt }] })
      return {
        body: () => ({ contents: turns }),
        take({ json }) {
          const { content } = json.candidates[0]
          turns.push(content)
          return content.parts
            .filter((part: { functionCall?: object }) => part.functionCall !== undefined)
            .map(({ functionCall }: { functionCall: { id: string; name: string; args: object } }) => ({
              id: functionCall.id,
              name: functionCall.name,
              input: functionCall.args
            }))
        },
        answerCalls(calls, result) {
          turns.push({
            role: 'user',
            parts: calls.map(call => ({
              functionResponse: { id: call.id, name: call.name, response: result(call) }
            }))
          })
        }
      }
  }
}

/** Runs an agent until the model returns no call. */
async function runAgent(family: Family, prompt: string, options: AskOptions): Promise<{ calls: Call[]; text: string }> {
  const conversation = converse(family, prompt)
  const made: Call[] = []
  for (let turn = 0; turn < 6; turn++) {
    const response = await askIn(gateway, family, '', { ...options, more: { ...options.more, ...conversation.body() } })
    if (response.status !== 200) throw new Error(`${family}: ${response.text}`)
    const calls = conversation.take(response)
    if (calls.length === 0) return { calls: made, text: textIn(family, response) }
    made.push(...calls)
    conversation.answerCalls(calls, call => ({ of: call.name }))
  }
  throw new Error(`${family}: the agent never ended`)
}

t.test('an agent’s loop of three turns keeps every state id, and every reserved name (B11, C3)', async t => {
  const prompt = '[[tool:a {"x":1}]] [[step]] [[tool:__gateway_user_search_web {"x":2}]] [[step]] [[text:done]]'
  for (const family of families) {
    for (const version of versions) {
      const { calls, text } = await runAgent(family, prompt, {
        prefix: prefixOf(family, version),
        more: declare(family, ['a', 'web_search'])
      })
      t.equal(text, 'done', `${family} ${version}`)
      t.strictSame(
        calls.map(({ name, input }) => [name, input]),
        [
          ['a', { x: 1 }],
          ['web_search', { x: 2 }]
        ],
        `${family} ${version}`
      )
      for (const { id } of calls) t.match(id, /^[a-zA-Z0-9_-]{1,128}$/)
    }
  }
  t.equal(emulator.stats.unknownStateIds, 0)
})

t.test('parallel calls and their results are sent back with their state ids (B1, B2, C3)', async t => {
  const wish = {
    completions: { parallel_tool_calls: true },
    responses: { parallel_tool_calls: true },
    messages: { tool_choice: { type: 'auto', disable_parallel_tool_use: false } },
    content: {}
  }
  for (const family of families) {
    const { calls, text } = await runAgent(
      family,
      '[[tool:a {"x":1}]][[tool:a {"x":2}]][[tool:b {"x":3}]] [[step]] [[text:done]]',
      {
        prefix: '/v2',
        model: 'GigaChat-2-Max',
        more: { ...declare(family, ['a', 'b']), ...wish[family] }
      }
    )
    t.equal(text, 'done', family)
    t.strictSame(
      calls.map(({ name, input }) => [name, input]),
      [
        ['a', { x: 1 }],
        ['a', { x: 2 }],
        ['b', { x: 3 }]
      ],
      family
    )
    t.equal(new Set(calls.map(({ id }) => id)).size, 3, family)
    const { messages } = lastUpstreamChat(emulator).body
    t.strictSame(
      messages
        .filter(({ role }: { role: string }) => role === 'tool')
        .map(
          ({ content }: { content: Array<{ function_result: { name: string } }> }) => content[0]?.function_result.name
        ),
      ['a', 'a', 'b'],
      family
    )
  }
  t.equal(emulator.stats.unknownStateIds, 0)
})

/** A history in which the model called `a` and the user continued without a result. */
function abandoned(family: Family): object {
  switch (family) {
    case 'completions': {
      const call = { id: 'call_1', type: 'function', function: { name: 'a', arguments: '{}' } }
      return {
        messages: [
          { role: 'user', content: 'go' },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'user', content: 'never mind' }
        ]
      }
    }
    case 'responses':
      return {
        input: [
          { role: 'user', content: 'go' },
          { type: 'function_call', call_id: 'call_1', name: 'a', arguments: '{}' },
          { role: 'user', content: 'never mind' }
        ]
      }
    case 'messages':
      return {
        messages: [
          { role: 'user', content: 'go' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'a', input: {} }] },
          { role: 'user', content: 'never mind' }
        ]
      }
    case 'content':
      return {
        contents: [
          { role: 'user', parts: [{ text: 'go' }] },
          { role: 'model', parts: [{ functionCall: { name: 'a', args: {} } }] },
          { role: 'user', parts: [{ text: 'never mind' }] }
        ]
      }
  }
}

t.test('a call without a result is not sent, and the conversation continues (B8)', async t => {
  for (const family of families) {
    for (const version of versions) {
      const name = `${family} ${version}`
      const before = upstreamChats(emulator).length
      const response = await askIn(gateway, family, '', {
        prefix: prefixOf(family, version),
        more: { ...declare(family, ['a']), ...abandoned(family) }
      })
      if (family === 'messages') {
        // The protocol requires a result here; its clients repair their history with the id in the error.
        t.equal(response.status, 400, name)
        t.match(readError(family, response).message, 'toolu_1')
        t.equal(upstreamChats(emulator).length, before, name)
        continue
      }
      t.equal(response.status, 200, name)
      const { messages } = lastUpstreamChat(emulator).body
      t.notMatch(JSON.stringify(messages), /function_call|function_result|"result"/, name)
      t.match(JSON.stringify(messages), /never mind/, name)
    }
  }
})

t.test('a result without a call is refused with its path and never sent as text (B9)', async t => {
  const orphans = {
    completions: {
      messages: [
        { role: 'user', content: 'go' },
        { role: 'tool', tool_call_id: 'call_nobody', content: '{}' }
      ]
    },
    responses: {
      input: [
        { role: 'user', content: 'go' },
        { type: 'function_call_output', call_id: 'call_nobody', output: '{}' }
      ]
    },
    messages: {
      messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_nobody', content: 'x' }] }]
    }
  }
  const before = upstreamChats(emulator).length
  for (const family of ['completions', 'responses', 'messages'] as const) {
    const response = await askIn(gateway, family, '', { more: orphans[family] })
    t.equal(response.status, 400, family)
    readError(family, response)
    t.match(response.text, /messages\[\d\]|input\[1\]|messages\.\d/, family)
  }
  t.equal(upstreamChats(emulator).length, before)
})

/** A history with one call that has these arguments. */
const historiesOf = (given: unknown) => ({
  completions: {
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'a', arguments: given } }]
      },
      { role: 'tool', tool_call_id: 'c', content: '{}' }
    ]
  },
  responses: {
    input: [
      { role: 'user', content: 'go' },
      { type: 'function_call', call_id: 'c', name: 'a', arguments: given },
      { type: 'function_call_output', call_id: 'c', output: '{}' }
    ]
  }
})

t.test('decisions.md 113: arguments of a history whose text is no JSON object are sent as one', async t => {
  for (const [family, more] of Object.entries(historiesOf('{"x":'))) {
    const response = await askIn(gateway, family as Family, '', { more })
    t.equal(response.status, 200, family)
    const { messages } = lastUpstreamChat(emulator).body
    t.strictSame(messages[1].function_call, { name: 'a', arguments: { arguments: '{"x":' } }, family)
  }
})

t.test('arguments of a history that are of another type are refused with their path (B12)', async t => {
  const broken = {
    ...historiesOf(7),
    messages: {
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'a', input: 7 }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x' }] }
      ]
    },
    content: {
      contents: [
        { role: 'user', parts: [{ text: 'go' }] },
        { role: 'model', parts: [{ functionCall: { name: 'a', args: 'x' } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'a', response: {} } }] }
      ]
    }
  }
  const before = upstreamChats(emulator).length
  for (const family of families) {
    const response = await askIn(gateway, family, '', { more: broken[family] })
    t.equal(response.status, 400, family)
    readError(family, response)
    t.match(response.text, /\[1\]|messages\.1\./, family)
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('several results and a text in one turn keep their order (B13)', async t => {
  const both = {
    messages: {
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'toolu_1', name: 'a', input: {} },
            { type: 'tool_use', id: 'toolu_2', name: 'b', input: {} }
          ]
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_2', content: '{"of":"b"}' },
            { type: 'tool_result', tool_use_id: 'toolu_1', content: '{"of":"a"}' },
            { type: 'text', text: 'and now?' }
          ]
        }
      ]
    },
    content: {
      contents: [
        { role: 'user', parts: [{ text: 'go' }] },
        {
          role: 'model',
          parts: [{ functionCall: { name: 'a', args: {} } }, { functionCall: { name: 'b', args: {} } }]
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'a', response: { of: 'a' } } },
            { functionResponse: { name: 'b', response: { of: 'b' } } },
            { text: 'and now?' }
          ]
        }
      ]
    }
  }
  for (const family of ['messages', 'content'] as const) {
    // Foreign ids carry no state, so the emulator accepts the history.
    const response = await askIn(gateway, family, '', { more: { ...declare(family, ['a', 'b']), ...both[family] } })
    t.equal(response.status, 200, family)
    t.strictSame(
      lastUpstreamChat(emulator).body.messages.map((message: { role: string; name?: string; content: string }) => [
        message.role,
        message.name ?? '',
        message.content
      ]),
      [
        ['user', '', 'go'],
        ['assistant', '', ''],
        ['function', 'a', '{"of":"a"}'],
        ['assistant', '', ''],
        ['function', 'b', '{"of":"b"}'],
        ['user', '', 'and now?']
      ],
      family
    )
  }
})

t.test(
  'a response that is cut off in a call has its own finish reason and no call to run, whole and streamed',
  async t => {
    const patterns: Record<Family, { reason: RegExp; callToRun: RegExp }> = {
      completions: { reason: /"finish_reason":"(\w+)"/, callToRun: /"finish_reason":"tool_calls"/ },
      responses: {
        reason: /"incomplete_details":\{"reason":"(\w+)"/,
        callToRun: /"type":"function_call","status":"completed"/
      },
      messages: { reason: /"stop_reason":"(\w+)"/, callToRun: /"stop_reason":"tool_use"/ },
      content: { reason: /"finishReason":"(\w+)"/, callToRun: /"functionCall"/ }
    }
    const words = {
      length: { completions: 'length', responses: 'max_output_tokens', messages: 'max_tokens', content: 'MAX_TOKENS' },
      blacklist: {
        completions: 'content_filter',
        responses: 'content_filter',
        messages: 'refusal',
        content: 'BLOCKLIST'
      }
    }
    for (const [word, expected] of Object.entries(words)) {
      for (const family of families) {
        for (const version of versions) {
          for (const stream of [false, true]) {
            const prompt = `[[finish:${word}]][[text:Hm]][[tool:a "{\\"x\\":"]]`
            const more = declare(family, ['a'])
            const { text } = await askIn(gateway, family, prompt, { prefix: prefixOf(family, version), stream, more })
            const name = `${word}: ${family} ${version} ${stream ? 'streamed' : 'whole'}`
            t.equal(patterns[family].reason.exec(text)?.[1], expected[family], name)
            t.notMatch(text, patterns[family].callToRun, name)
          }
        }
      }
    }
  }
)
