import t from 'tap'
import {
  listReferences,
  needsHistory,
  readMemoryWish,
  readMemoryWishInTurns
} from '../../../worker/memory/read-wish.ts'

const read = (body: unknown) => readMemoryWish(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))

t.test('what a body wants of the memory is read without the rest of it', async t => {
  t.match(read({ model: 'm', input: 'x', stream: true, background: true, truncation: 'auto' }), {
    model: 'm',
    input: { kind: 'text' },
    store: undefined,
    previousResponseId: undefined,
    isBackground: true,
    isStream: true,
    mayTruncate: true
  })
  t.match(read({ input: [], store: false, previous_response_id: 'resp_1' }), {
    store: false,
    previousResponseId: 'resp_1',
    isBackground: false,
    mayTruncate: false
  })
  t.equal(read({ input: 'x', conversation: 'conv_1' })?.conversationId, 'conv_1')
  t.equal(read({ input: 'x', conversation: { id: 'conv_1', more: [{ id: 'no' }] } })?.conversationId, 'conv_1')
  t.equal(read({ input: 'x', store: null })?.store, undefined)
  for (const store of ['false', 1, {}])
    t.throws(() => read({ input: 'x', store }), { code: 'invalid_request', param: 'store' })
  t.equal(read({ input: 'x', background: true, stream: 'true' }), undefined, 'a wrong stream is left to the reader')
  t.match(read({ input: 'x', stream: null }), { isStream: false })
  t.match(read({ previous_response_id: null, conversation: null, input: null }), {
    input: { kind: 'none' },
    previousResponseId: undefined,
    conversationId: undefined
  })
})

t.test('the last of repeated names counts, and names may be spelled with escapes', async t => {
  t.equal(read('{"store":true,"input":"x","store":false}')?.store, false)
  t.equal(read('{"\\u0073tore":true,"input":"x"}')?.store, true)
  t.equal(read('{ "previous_response_id" : "resp_\\u0031" , "input":[ ] }')?.previousResponseId, 'resp_1')
})

t.test('a reference may have no type, as SDKs write it', async t => {
  const wish = read({
    input: [
      { type: 'item_reference', id: 'a' },
      { id: 'b' },
      { id: 'c', type: null },
      { id: 'd', role: 'user', content: 'x' },
      { id: 'e', type: 'message', role: 'user', content: 'x' },
      { type: 'item_reference' },
      7
    ]
  })
  if (wish === undefined) throw new Error('The body was not read.')
  t.same(listReferences(wish.input), [
    { index: 0, id: 'a' },
    { index: 1, id: 'b' },
    { index: 2, id: 'c' }
  ])
  t.ok(needsHistory(wish))
  t.notOk(needsHistory(read({ input: [{ role: 'user', content: 'x' }] }) ?? wish))
})

t.test('a body with a wrong shape is left to the reader of the request', async t => {
  for (const body of [
    '',
    '[]',
    '{',
    '{"input":"x"',
    '{"input":[1,}',
    { input: 7 },
    { input: 'x', previous_response_id: 7 },
    { input: 'x', conversation: 7 },
    { input: 'x', conversation: { id: 7 } }
  ]) {
    t.equal(read(body), undefined, JSON.stringify(body))
  }
})

t.test('a response and a conversation together are refused', async t => {
  t.throws(() => read({ input: 'x', previous_response_id: 'resp_1', conversation: 'conv_1' }), {
    code: 'invalid_request',
    param: 'conversation'
  })
})

t.test('a large body is read in steps, with the same result', async t => {
  const items = Array.from({ length: 5000 }, (_, index) =>
    index % 7 === 0
      ? { id: `item-${index}` }
      : { role: 'user', content: `"quoted" \\ ${index} ${'x'.repeat(index % 300)}` }
  )
  const bytes = Buffer.from(JSON.stringify({ model: 'm', input: items, store: true, tools: [{ input: [1] }] }))
  let turns = 0
  const wish = await readMemoryWishInTurns(bytes, async () => {
    turns++
  })
  t.ok(turns > 2, 'other work of the event loop comes in between')
  t.strictSame(wish, readMemoryWish(bytes))
  t.equal(listReferences(wish?.input ?? { kind: 'none' }).length, 715)
})

t.test('a body that is cut anywhere is left to the reader of the request', async t => {
  const whole = Buffer.from('{"a":[1,{"b":"\\\\\\""}],"input":[{"type":"message","content":"x\\""},7],"store":true}')
  for (let length = 0; length < whole.length; length++) {
    t.equal(readMemoryWish(whole.subarray(0, length)), undefined, String(length))
  }
  t.ok(readMemoryWish(whole))
})
