import t from 'tap'
import type { JsonObject, NormalizedEvent } from '../../../../../worker/normalized/index.ts'
import { writeCompactBody } from '../../../../../worker/protocols/responses/client/compact-body.ts'
import {
  introduceSummary,
  isSealedSummary,
  NONCE_BYTES,
  openSummary,
  sealSummary
} from '../../../../../worker/protocols/responses/client/compaction.ts'
import { readResponsesRequest, responsesFace } from '../../../../../worker/protocols/responses/client/face.ts'
import { eventsOf } from './support.ts'

const key = Buffer.alloc(32, 1)
const nonce = Buffer.alloc(NONCE_BYTES, 2)
const read = (body: JsonObject, compactionKey: Uint8Array | undefined = key) =>
  readResponsesRequest(body, { requestId: 'r1', compactionKey })

t.test('a sealed summary is opened with its key alone, and unaltered', async t => {
  const sealed = sealSummary('Größe ✓', key, nonce)
  t.ok(isSealedSummary(sealed))
  t.notMatch(sealed, 'Gr')
  t.equal(openSummary(sealed, key), 'Größe ✓')
  t.equal(openSummary(sealed, Buffer.alloc(32, 3)), undefined)
  for (let at = 'gateway-summary:'.length; at < sealed.length - 1; at++) {
    const altered = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
    t.equal(openSummary(altered, key), undefined)
  }
  t.equal(openSummary('gateway-summary:', key), undefined)
  t.notOk(isSealedSummary('gAAAA-of-a-service'))
})

t.test('memory 18: a trigger asks for a summary of the items before it, without calls', async t => {
  const request = read({
    input: [
      { role: 'user', content: 'one' },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'ok' },
      { type: 'compaction_trigger', id: null }
    ],
    tools: [{ type: 'function', name: 'f' }],
    tool_choice: 'required',
    parallel_tool_calls: true,
    stop: ['x'],
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } }
  })
  t.equal(request.compacts, 'response')
  t.strictSame(
    request.messages.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'user']
  )
  t.match(request.messages.at(-1)?.content, [{ type: 'text', text: /^Summarize the conversation/ }])
  t.strictSame(request.toolChoice, { type: 'none' })
  t.equal(request.tools.length, 1)
  t.equal(request.output, undefined)
  t.equal(request.sampling.stop, undefined)
  t.notOk('toolChoice' in read({ input: ['a', 'b'].map(content => ({ role: 'user', content })) }))
})

t.test('memory 18: a trigger stands last, behind at least one item', async t => {
  const trigger = { type: 'compaction_trigger' }
  const one = { role: 'user', content: 'one' }
  t.throws(() => read({ input: [trigger, one] }), { code: 'invalid_request', param: 'input[0].type' })
  t.throws(() => read({ input: [one, trigger, trigger] }), { code: 'invalid_request', param: 'input[1].type' })
  t.throws(() => read({ input: [trigger] }), { code: 'invalid_request', param: 'input' })
  t.equal(read({ input: [trigger], previous_response_id: 'resp_1' }).compacts, 'response')
})

t.test('memory 18: a sealed summary is read as a message, and one that cannot be opened is refused', async t => {
  const item = { type: 'compaction', id: 'cmp_1', encrypted_content: sealSummary('They like tea.', key, nonce) }
  const { messages } = read({ input: [item, { role: 'user', content: 'go on' }] })
  t.match(messages, [
    { role: 'user', content: [{ type: 'text', text: introduceSummary('They like tea.') }] },
    { role: 'user', content: [{ text: 'go on' }] }
  ])
  for (const other of [Buffer.alloc(32, 9), new Uint8Array()]) {
    const refused = { code: 'invalid_request', param: 'input[1].encrypted_content' }
    t.throws(() => read({ input: [{ role: 'user', content: 'a' }, item] }, other), refused)
  }
  const foreign = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' }
  t.throws(() => read({ input: [foreign] }), { code: 'unsupported_semantic', param: 'input[0].type' })
})

const context = (body: JsonObject, isCompactOperation?: true) => ({
  requestId: 'r1',
  createdAt: 7,
  model: 'm',
  request: readResponsesRequest(body, {
    requestId: 'r1',
    compactionKey: key,
    ...(isCompactOperation && { isCompactOperation })
  }),
  seal: (text: string) => sealSummary(text, key, nonce)
})
const body = { input: [{ role: 'user', content: 'one' }, { type: 'compaction_trigger' }] }
const wordy = (): readonly NormalizedEvent[] =>
  eventsOf(assembler => {
    assembler.reasoning('hm')
    assembler.text('They like ')
    assembler.text('tea.')
  })

t.test('memory 18: the stream of a summary has one item, and none of its text', async t => {
  const writer = responsesFace.createStreamWriter(context(body))
  const text = [writer.write(wordy())].flat().join('')
  t.notMatch(text, 'tea')
  const events = text
    .trim()
    .split('\n\n')
    .map(frame => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)))
  const done = { id: 'cmp_r1', type: 'compaction', encrypted_content: sealSummary('They like tea.', key, nonce) }
  t.match(
    events.map(({ type }) => type),
    [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed'
    ]
  )
  t.strictSame(events[2].item, { ...done, encrypted_content: '' })
  t.strictSame(events[3].item, done)
  t.strictSame(events[4].response.output, [done])
})

t.test('a model that wrote no text has lost the conversation: that is a failure', async t => {
  const silent = eventsOf(assembler => assembler.reasoning('hm'))
  const writer = responsesFace.createStreamWriter(context(body))
  t.throws(() => writer.write(silent), { code: 'provider_protocol_error' })
})

t.test('memory 18: the body of a wish is that of a response whose input ends with the trigger', async t => {
  const write = (text: string) => writeCompactBody(Buffer.from(text)).toString()
  const trigger = '{"type":"compaction_trigger"}'
  t.equal(
    write('{ "model": "m", "stream": true, "input": [ {"n":1.0} ], "x": 1e2 }'),
    `{"model": "m","x": 1e2,"store":false,"input":[ {"n":1.0} ,${trigger}]}`
  )
  t.equal(
    write('{"input":"a\\n"}'),
    `{"store":false,"input":[{"type":"message","role":"user","content":"a\\n"},${trigger}]}`
  )
  for (const empty of ['{"input":[]}', '{"input":null}', '{}']) {
    t.equal(write(empty), `{"store":false,"input":[${trigger}]}`, empty)
  }
  for (const wrong of ['[]', '{"input":7}', 'x', '{"a":']) t.equal(write(wrong), wrong)
})

t.test("a provider of the same wire summarizes itself; only the form of the operation is the gateway's", async t => {
  const own = {
    id: 'resp_1',
    object: 'response',
    created_at: 5,
    output: [{ type: 'compaction' }],
    usage: { total_tokens: 3 }
  }
  const bytes = Buffer.from(JSON.stringify(own))
  t.equal(responsesFace.passResponse?.(bytes, context(body)), bytes)
  const passed = responsesFace.passResponse?.(bytes, context(body, true))
  t.strictSame(JSON.parse(Buffer.from(passed ?? '').toString()), { ...own, object: 'response.compaction' })
})
