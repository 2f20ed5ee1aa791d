import { zodTextFormat } from 'openai/helpers/zod'
import t from 'tap'
import { z } from 'zod'
import { picture } from '../../../ops/emulator/builtins.ts'
import { readToolCallId } from '../../../worker/normalized/index.ts'
import { lastUpstreamChat } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import {
  accumulate,
  ask,
  callsOf,
  createClient,
  type Loose,
  model,
  schema,
  stream,
  textOf,
  tool,
  versions
} from './support.ts'

const { emulator, gateway } = await startSharedGateway()

const MESSAGE_HEAD = ['response.output_item.added', 'response.content_part.added']
const MESSAGE_TAIL = ['response.output_text.done', 'response.content_part.done', 'response.output_item.done']
const HEAD = ['response.created', 'response.in_progress']
const REASONING = [
  'response.output_item.added',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_text.delta',
  'response.reasoning_summary_text.done',
  'response.reasoning_summary_part.done',
  'response.output_item.done'
]
const CALL = [
  'response.output_item.added',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.output_item.done'
]
const DELTA = 'response.output_text.delta'

/** The types of events without repetitions, because the upstream decides the number of deltas. */
function fold(types: string[]): string[] {
  return types.filter((type, index) => !type.endsWith('.delta') || type !== types[index - 1])
}

t.test('responses 61: a text stream has the complete sequence of events and no end mark', async t => {
  for (const version of versions) {
    const { httpResponse, events, types, response } = await stream(gateway, version, '[[chunks:Hel|lo]]')
    t.equal(lastUpstreamChat(emulator).body.stream, true)
    t.match(httpResponse.headers.get('content-type'), /^text\/event-stream/)
    t.notMatch(httpResponse.text, /\[DONE\]/)
    t.strictSame(types, [...HEAD, ...MESSAGE_HEAD, DELTA, DELTA, ...MESSAGE_TAIL, 'response.completed'])
    t.strictSame(
      events.map(event => event.sequence_number),
      [...events.keys()]
    )
    const [created, , added, part, first] = events
    t.match(created.response, { status: 'in_progress', output: [], usage: null, model })
    t.match(added, {
      output_index: 0,
      item: { type: 'message', status: 'in_progress', role: 'assistant', content: [] }
    })
    t.strictSame(part.part, { type: 'output_text', text: '', annotations: [], logprobs: [] })
    t.strictSame(first, {
      type: DELTA,
      sequence_number: 4,
      item_id: added.item.id,
      output_index: 0,
      content_index: 0,
      delta: 'Hel',
      logprobs: []
    })
    t.match(response, { status: 'completed', id: created.response.id, usage: { total_tokens: Number } })
    t.equal((await accumulate(gateway, version, '[[chunks:Hel|lo]]')).output_text, 'Hello')
  }
})

t.test('responses 64: reasoning and text are two items, one after the other', async t => {
  for (const version of versions) {
    for (const prompt of ['[[reason:because]][[text:so]]', '[[chunks:<thi|nk>because</th|ink>so]]']) {
      const { events, types, response } = await stream(gateway, version, prompt)
      t.strictSame(fold(types), [...HEAD, ...REASONING, ...MESSAGE_HEAD, DELTA, ...MESSAGE_TAIL, 'response.completed'])
      const done = events.filter(event => event.type === 'response.output_item.done')
      t.strictSame(
        done.map(event => event.output_index),
        [0, 1]
      )
      t.strictSame(
        done.map(event => event.item),
        response.output,
        'the final output is the accumulated items'
      )
      t.equal(response.output[0].summary[0].text, 'because')
      const final = await accumulate(gateway, version, prompt)
      t.strictSame(
        final.output.map(({ type }) => type),
        ['reasoning', 'message']
      )
      t.equal(final.output_text, 'so')
    }
  }
})

t.test('responses 65: a call alone has its sequence of events and ids that carry its state', async t => {
  for (const version of versions) {
    for (const form of ['', '[[callsplit]]', version === 'v1' ? '[[argfrag:2]]' : '[[msgcall]]']) {
      const prompt = `${form}[[tool:g {"a":1}]]`
      const { events, types, response } = await stream(gateway, version, prompt, { tools: [tool('g')] })
      t.strictSame(fold(types), [...HEAD, ...CALL, 'response.completed'], form)
      const { item } = events.find(event => event.type === 'response.output_item.added')
      t.match(item, { type: 'function_call', status: 'in_progress', name: 'g', arguments: '' })
      t.equal(item.id, `fc_${item.call_id}`)
      t.match(readToolCallId(item.call_id), { stateId: String, isOwn: true })
      t.match(callsOf(response), [{ id: item.id, call_id: item.call_id, arguments: '{"a":1}', status: 'completed' }])
      const final = await accumulate(gateway, version, prompt, { tools: [tool('g')] })
      t.match(final.output, [{ type: 'function_call', name: 'g', arguments: '{"a":1}' }])
    }
  }

  t.comment('of one state id the ids are the same, streamed and whole')
  const messages = [
    { role: 'assistant', tools_state_id: 'ts-1', content: [{ function_call: { name: 'g', arguments: { a: 1 } } }] }
  ]
  const payload = { model: 'GigaChat-2:2.0.28.2', created_at: 1, messages, finish_reason: 'function_call' }
  emulator.respondNext({ body: payload })
  const whole = await ask(gateway, 'v2', 'go', { tools: [tool('g')] })
  emulator.respondNext({ chunks: [`event: response.message.done\ndata: ${JSON.stringify(payload)}\n\n`] })
  const streamed = await stream(gateway, 'v2', 'go', { tools: [tool('g')] })
  t.equal(readToolCallId(callsOf(whole.json)[0].call_id).stateId, 'ts-1')
  t.strictSame(streamed.response.output, whole.json.output)
})

t.test('responses 66: text is closed before the call that follows it (A6)', async t => {
  for (const version of versions) {
    const prompt = '[[text:One moment.]][[tool:g {"a":1}]]'
    const { events, types, response } = await stream(gateway, version, prompt, { tools: [tool('g')] })
    t.strictSame(fold(types), [...HEAD, ...MESSAGE_HEAD, DELTA, ...MESSAGE_TAIL, ...CALL, 'response.completed'])
    t.strictSame(
      events.filter(event => event.type === 'response.output_item.added').map(event => event.output_index),
      [0, 1]
    )
    t.match(response.output, [{ type: 'message' }, { type: 'function_call' }])
    const final = await accumulate(gateway, version, prompt, { tools: [tool('g')] })
    t.match(final.output, [{ type: 'message' }, { type: 'function_call', arguments: '{"a":1}' }])
  }
})

t.test('responses 67: a structured stream is a message whose text is the JSON', async t => {
  const text = { format: { type: 'json_schema', name: 'out', schema, strict: true } }
  const more = { text, tools: [{ type: 'function', name: 'g' }] }
  for (const version of versions) {
    const { types, response } = await stream(gateway, version, 'x', more)
    t.strictSame(fold(types), [...HEAD, ...MESSAGE_HEAD, DELTA, ...MESSAGE_TAIL, 'response.completed'])
    t.type(JSON.parse(textOf(response)), 'object')
    const { body } = lastUpstreamChat(emulator)
    t.equal(body.stream, true)
    t.strictSame(body.response_format ?? body.model_options.response_format, {
      type: 'json_schema',
      schema,
      strict: true
    })
    t.strictSame(listSentFunctions(body), [{ name: 'g', parameters: { type: 'object', properties: {} } }])
    for (const name of ['function_call', 'tool_config']) t.notOk(name in body, name)
    const plain = await accumulate(gateway, version, 'x', more)
    t.type(JSON.parse(plain.output_text), 'object')
    t.match(plain.output, [{ type: 'message' }])
    const Answer = z.object({ name: z.string(), tags: z.array(z.string()) })
    const parsed = await createClient(gateway, version)
      .responses.stream({ model, input: 'x', text: { format: zodTextFormat(Answer, 'answer') } })
      .finalResponse()
    t.ok(Answer.safeParse(parsed.output_parsed).success)
  }
})

t.test('responses 68: a search is reported while it runs, completed once, and an item before the message', async t => {
  const tools = [{ type: 'web_search' }]
  const { events, types, response } = await stream(gateway, 'v2', '[[builtin:web_search]]', { tools })
  const searched = types.filter(type => type.startsWith('response.web_search_call.'))
  t.equal(searched[0], 'response.web_search_call.in_progress')
  t.equal(searched.filter(type => type === 'response.web_search_call.completed').length, 1)
  t.ok(types.indexOf(searched[0] ?? '') < types.indexOf('response.web_search_call.completed'))
  const done = events.filter(event => event.type === 'response.output_item.done')
  t.match(done, [
    { output_index: 0, item: { type: 'web_search_call', status: 'completed', action: { sources: [{}, {}] } } },
    { output_index: 1, item: { type: 'message' } }
  ])
  t.match(response.output, [{ type: 'web_search_call', status: 'completed' }, { type: 'message' }])
  t.ok(types.includes('response.output_text.annotation.added'))
  t.notMatch(textOf(response), /\[sources=/)
  const final = await accumulate(gateway, 'v2', '[[builtin:web_search]]', { tools })
  t.strictSame(
    final.output.map(({ type }) => type),
    ['web_search_call', 'message']
  )
})

t.test('responses 69: a picture is reported while it is generated, has its bytes and is the only item', async t => {
  const tools = [{ type: 'image_generation' }]
  const tells = (status?: string) => ({
    tool_execution: { name: 'image_generate', ...(status === undefined ? {} : { status }) }
  })
  // The emulator has a file with this id.
  const { response: made } = await stream(gateway, 'v2', '[[builtin:image_generate]]', { tools })
  const file = made.output.find((item: Loose) => item.type === 'image_generation_call').file_id
  const frame = (event: string, data: object) =>
    `event: ${event}\ndata: ${JSON.stringify({ model: 'GigaChat-2:2.0.28.2', created_at: 1, ...data })}\n\n`
  const part = (content: object) => ({ messages: [{ role: 'assistant', content: [content] }] })
  const chunks = [
    frame('response.tool.in_progress', part(tells())),
    frame('response.tool.in_progress', part(tells('generating'))),
    frame('response.tool.completed', part(tells('success'))),
    frame('response.message.delta', part({ files: [{ id: file, mime: 'image/jpeg', target: 'image' }] })),
    frame('response.message.done', { finish_reason: 'stop' })
  ]
  emulator.respondNext({ chunks })
  const { types, response } = await stream(gateway, 'v2', 'draw', { tools })
  t.strictSame(types, [
    ...HEAD,
    'response.output_item.added',
    'response.image_generation_call.in_progress',
    'response.image_generation_call.generating',
    'response.image_generation_call.completed',
    'response.output_item.done',
    'response.completed'
  ])
  t.match(response.output, [{ type: 'image_generation_call', status: 'completed' }])
  t.equal(response.output[0].result, picture.toString('base64'))
  emulator.respondNext({ chunks })
  const final = await accumulate(gateway, 'v2', 'draw', { tools })
  t.match(final.output, [{ type: 'image_generation_call', result: picture.toString('base64') }])
})

t.test('responses 70: the stream of a truncated response ends with response.incomplete', async t => {
  for (const version of versions) {
    const { types, response } = await stream(gateway, version, '[[finish:length]][[text:half]]')
    t.equal(types.at(-1), 'response.incomplete')
    t.match(response, {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ type: 'message', status: 'incomplete' }],
      usage: { output_tokens: Number }
    })
    t.equal((await accumulate(gateway, version, '[[finish:length]][[text:half]]')).status, 'incomplete')
  }
})

const BREAKS = ['[[die]]', '[[noeof]]', '[[badframe]]', '[[errframe]]']

t.test('responses 72: a broken upstream stream ends with response.failed and the finished items (A14)', async t => {
  for (const version of versions) {
    for (const directive of BREAKS) {
      const prompt = `[[reason:because]]${directive}[[chunks:one|two|three]]`
      const { httpResponse, events, types, response } = await stream(gateway, version, prompt)
      t.equal(types.at(-1), 'response.failed', directive)
      t.match(response, { status: 'failed', error: { code: 'server_error', message: String } })
      const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)
      t.strictSame(response.output, done)
      if (directive === '[[noeof]]') t.match(done, [{ type: 'reasoning', summary: [{ text: 'because' }] }])
      t.equal(textOf(response), '')
      t.notMatch(httpResponse.text, /127\.0\.0\.1|api\/v[12]/)
    }
    const limited = await stream(gateway, version, '[[errframe:429 message=slow down]][[chunks:one|two]]')
    t.match(limited.response.error, { code: 'rate_limit_exceeded' })
  }
})

t.test('decisions.md 51: a stream that breaks in a text or a call reports no end of it and leaves it out', async t => {
  for (const version of versions) {
    for (const directive of BREAKS) {
      const { types, response } = await stream(gateway, version, `${directive}[[chunks:one|two|three]]`)
      t.ok(types.includes(DELTA), 'the client has seen text')
      t.strictSame(
        types.filter(type => type.endsWith('.done')),
        [],
        directive
      )
      t.strictSame(response.output, [])
    }
    const more = { tools: [tool('g')], model: 'GigaChat-2-Max' }
    // Only v1 can cut arguments.
    const cuts = version === 'v1' ? ['[[argfrag:4]][[die]]', '[[argfrag:4]][[noeof]]'] : []
    for (const directive of [...cuts, '[[callsplit]][[die]]', '[[callsplit]][[noeof]]']) {
      const { types, response } = await stream(gateway, version, `${directive}[[tool:g {"city":"Omsk"}]]`, more)
      t.equal(types.at(-1), 'response.failed', directive)
      t.strictSame(
        types.filter(type => type.endsWith('.done')),
        []
      )
      t.strictSame(response.output, [])
    }
  }
})

t.test('decisions.md 51: a search that runs when the stream breaks has no end', async t => {
  const tells = (status?: string) => ({
    tool_execution: { name: 'web_search', ...(status === undefined ? {} : { status }) }
  })
  const frame = (status?: string) =>
    `event: response.tool.in_progress\ndata: ${JSON.stringify({ model: 'm', created_at: 1, ...tells(status) })}\n\n`
  emulator.respondNext({ chunks: [frame(), frame('searching')], end: 'destroy' })
  const { types, response } = await stream(gateway, 'v2', 'x', { tools: [{ type: 'web_search' }] })
  t.match(types.slice(2), ['response.output_item.added', /web_search_call/, /web_search_call/, 'response.failed'])
  t.strictSame(response.output, [])
})

t.test('decisions.md 51: a truncated or filtered text is closed', async t => {
  for (const version of versions) {
    for (const reason of ['length', 'blacklist']) {
      const { types, response } = await stream(gateway, version, `[[finish:${reason}]][[text:half]]`)
      t.strictSame(types.slice(-4), [...MESSAGE_TAIL, 'response.incomplete'])
      t.match(response.output, [{ type: 'message', status: 'incomplete', content: [{ text: 'half' }] }])
    }
  }
})

/** Where the SDK's types allow null, or where only a running response has it. */
const NULL_MEMBERS = [
  'access_programs',
  'completed_at',
  'error',
  'incomplete_details',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'previous_response_id',
  'prompt_cache_key',
  'prompt_cache_retention',
  'reasoning.effort',
  'reasoning.summary',
  'safety_identifier',
  'tools.description',
  'tools.parameters',
  'tools.strict'
]

/** The paths of all null members, without the positions in lists. */
function listNulls(value: Loose, path: string[] = []): string[] {
  if (value === null) return [path.join('.')]
  if (typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, member]) =>
    listNulls(member, Array.isArray(value) ? path : [...path, name])
  )
}

t.test('decisions.md 40: responses and events have no null member that the SDK does not declare', async t => {
  const prompts = ['[[reason:so]][[text:a]][[tool:g {"a":1}]]', '[[finish:length]]x', '[[chunks:a|b]][[die]]']
  for (const version of versions) {
    for (const prompt of prompts) {
      const { events } = await stream(gateway, version, prompt, { tools: [{ type: 'function', name: 'g' }] })
      for (const { response, ...event } of events) {
        t.strictSame(listNulls(event), [], event.type)
        if (response === undefined) continue
        const isOver = response.status === 'completed' || response.status === 'incomplete'
        t.strictSame(
          listNulls(response).filter(path => !NULL_MEMBERS.includes(path)),
          isOver ? [] : ['usage'],
          event.type
        )
      }
    }
  }
})

t.test('responses 80: an empty response has every event except deltas', async t => {
  for (const version of versions) {
    const { types, response } = await stream(gateway, version, '[[text:""]]')
    t.strictSame(types, [...HEAD, ...MESSAGE_HEAD, ...MESSAGE_TAIL, 'response.completed'])
    t.match(response, { status: 'completed', output: [{ type: 'message', content: [{ text: '' }] }] })
    t.equal((await accumulate(gateway, version, '[[text:""]]')).output_text, '')
  }
})

t.test(
  'characters split between writes are read correctly, with any line ending and with comments (A12, A13)',
  async t => {
    for (const version of versions) {
      for (const directive of ['[[split:1]]', '[[crlf]]', '[[ping]]']) {
        const { response } = await stream(gateway, version, `${directive}[[text:Привет, мир 🌍]]`)
        t.equal(textOf(response), 'Привет, мир 🌍', directive)
      }
    }
  }
)
