import t from 'tap'
import { readItems, readMetadata } from '../../../worker/memory/conversation-body.ts'

function read(body: object | string) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return readItems(Buffer.from(text), JSON.parse(text))
}

t.test('items stay byte for byte, and those without an id get one of their type', async t => {
  const items = [
    '{"role":"user","content":"a"}',
    '{ "type":"function_call","call_id":"c","name":"f","arguments":"{}" }'
  ]
  const own = '{"id":"msg_own","type":"message","role":"assistant","content":"b","n":12345678901234567890}'
  const stored = read(`{"items":[${items.join(' , ')},\n${own}]}`)
  t.strictSame(
    stored.map(({ json }) => Buffer.from(json).toString()),
    [...items, own]
  )
  t.match(stored[0]?.id, /^msg_[\w-]{32}$/)
  t.match(stored[1]?.id, /^fc_[\w-]{32}$/)
  t.equal(stored[2]?.id, 'msg_own')
})

t.test('what no request could hold is refused with its place', async t => {
  const user = { role: 'user', content: 'a' }
  for (const [items, param] of [
    [undefined, 'items'],
    [null, 'items'],
    ['text', 'items'],
    [Array.from({ length: 21 }, () => user), 'items'],
    [[user, 'text'], 'items[1]'],
    [[{ role: 'user', content: [{ type: 'input_text' }] }], 'items[0].content[0].text'],
    [[user, { type: 'item_reference', id: 'msg_1' }], 'items[1].type'],
    [[{ id: 'msg_1' }], 'items[0].type'],
    [
      [
        { ...user, id: 'a' },
        { ...user, id: 'a' }
      ],
      'items[1].id'
    ],
    [[{ ...user, id: 'a'.repeat(2000) }], 'items[0].id']
  ] as const) {
    t.throws(() => read({ items }), { code: 'invalid_request', param }, JSON.stringify(items)?.slice(0, 100))
  }
  t.throws(() => read({ items: [{ role: 'user', content: 7 }] }), /'items\[0\]\.content'/)
  t.strictSame(read({ items: [] }), [])
})

t.test('metadata has at most 16 texts of 512 characters under names of 64', async t => {
  const pairs = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`k${index}`, 'v']))
  t.strictSame(JSON.parse(readMetadata({ metadata: pairs }).toString()), pairs)
  t.strictSame(JSON.parse(readMetadata({ metadata: null }).toString()), {})
  t.strictSame(JSON.parse(readMetadata({}).toString()), {})
  const long = { ['k'.repeat(64)]: '😀'.repeat(512) }
  t.strictSame(JSON.parse(readMetadata({ metadata: long }).toString()), long)
  t.throws(() => readMetadata({ metadata: { ...pairs, one: 'more' } }), { code: 'invalid_request', param: 'metadata' })
  t.throws(() => readMetadata({ metadata: { ['k'.repeat(65)]: 'v' } }), { code: 'invalid_request', param: 'metadata' })
  t.throws(() => readMetadata({ metadata: { k: 'v'.repeat(513) } }), { code: 'invalid_request', param: 'metadata.k' })
  t.throws(() => readMetadata({ metadata: { k: 7 } }), { code: 'invalid_request', param: 'metadata.k' })
  t.throws(() => readMetadata({ metadata: [] }), { code: 'invalid_request', param: 'metadata' })
})
