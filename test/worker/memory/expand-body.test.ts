import t from 'tap'
import type { StoredItem } from '../../../shared/memory/store.ts'
import { type Expansion, expandBody } from '../../../worker/memory/expand-body.ts'
import { listReferences, readMemoryWish } from '../../../worker/memory/read-wish.ts'
import * as fc from '../../support/properties.ts'

const item = (id: string, value: unknown = { id }): StoredItem => ({ id, json: Buffer.from(JSON.stringify(value)) })
const NOTHING: Expansion = { history: [], references: new Map() }

function expand(body: string, expansion: Partial<Expansion> = {}) {
  const bytes = Buffer.from(body)
  const wish = readMemoryWish(bytes)
  if (wish === undefined) throw new Error('The body was not read.')
  const expanded = expandBody(bytes, wish, { ...NOTHING, ...expansion })
  return { ...expanded, text: expanded.bytes.toString() }
}

t.test('only what the memory reads leaves the body, and the rest keeps its bytes', async t => {
  const { text } = expand(
    '{ "background": true, "model" : "m", "previous_response_id":"resp_1",\n "input" : "x", "temperature":1.0, "store" : true , "conversation":null }'
  )
  t.equal(text, '{ "model" : "m",\n "input" : "x", "temperature":1.0, "store" : false }')
  t.equal(expand('{"input":"x"}').text, '{"input":"x","store":false}')
  t.equal(expand('{"store":true,"input":"x","store":null}').text, '{"input":"x","store":false}')
  t.equal(expand('{}').text, '{"store":false}')
  t.equal(
    expand('{"stream":false,"input":"x"}', { isStreamed: true }).text,
    '{"input":"x","store":false,"stream":true}'
  )
})

t.test('the history goes before the own input, whatever form that has', async t => {
  const history = [item('a'), item('b')]
  t.equal(
    expand('{"input":"x\\n"}', { history }).text,
    '{"input":[{"id":"a"},{"id":"b"},{"type":"message","role":"user","content":"x\\n"}],"store":false}'
  )
  t.equal(
    expand('{"input":[ {"role":"user"} ]}', { history }).text,
    '{"input":[{"id":"a"},{"id":"b"}, {"role":"user"} ],"store":false}'
  )
  t.equal(expand('{"input":[]}', { history }).text, '{"input":[{"id":"a"},{"id":"b"}],"store":false}')
  t.equal(expand('{"input":null}', { history }).text, '{"input":[{"id":"a"},{"id":"b"}],"store":false}')
  t.equal(expand('{"model":"m"}', { history }).text, '{"model":"m","store":false,"input":[{"id":"a"},{"id":"b"}]}')
})

t.test('references give way to their items, and to nothing where the history has them', async t => {
  const references = new Map<number, StoredItem | 'in-history'>([
    [0, item('a', { id: 'a', n: 1 })],
    [2, 'in-history']
  ])
  const { text, ownIndexes, historyLength } = expand('{"input":[{"id":"a"} , {"role":"user"},{"id":"b"}, 7]}', {
    history: [item('b')],
    references
  })
  t.equal(text, '{"input":[{"id":"b"},{"id":"a","n":1} , {"role":"user"}, 7],"store":false}')
  t.same(ownIndexes, [0, 1, 3])
  t.equal(historyLength, 1)
})

t.test('a thread of the upstream stays a thread', async t => {
  t.equal(
    expand('{"previous_response_id":"resp_own","input":"x"}', { threadId: 'th' }).text,
    '{"previous_response_id":"resp_th","input":"x","store":false}'
  )
})

t.test('an expanded body is the history and the own input, and everything else is what the client wrote', async t => {
  const value = fc.jsonValue({ maxDepth: 3 })
  const taken = new Set(['input', 'store', 'previous_response_id', 'conversation', 'background'])
  const members = fc.dictionary(fc.string({ maxLength: 12 }), value, { maxKeys: 5 })
  const own = fc.array(
    fc.oneof(
      fc.record({ role: fc.constant('user'), content: fc.string() }),
      fc.record({ id: fc.uuid() }),
      fc.record({ type: fc.constant('function_call_output'), output: value })
    ),
    { maxLength: 4 }
  )
  const stored = fc.array(fc.dictionary(fc.string({ maxLength: 6 }), value, { maxKeys: 3 }), { maxLength: 3 })
  fc.assert(
    fc.property(members, own, stored, fc.boolean(), fc.nat(3), (others, input, history, hasStore, space) => {
      const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !taken.has(name)))
      const body = { ...rest, previous_response_id: 'resp_1', input, ...(hasStore && { store: true }) }
      const bytes = Buffer.from(JSON.stringify(body, null, space))
      const wish = readMemoryWish(bytes)
      if (wish === undefined) throw new Error('The body was not read.')
      const references = new Map(
        listReferences(wish.input).map(({ index, id }): [number, StoredItem] => [
          index,
          item(id, { id, was: 'stored' })
        ])
      )
      const { bytes: expanded } = expandBody(bytes, wish, {
        history: history.map((one, index) => item(`h${index}`, one)),
        references
      })
      const read = JSON.parse(expanded.toString())
      const replaced = input.map(one => ('id' in one ? { id: one.id, was: 'stored' } : one))
      t.strictSame(read, JSON.parse(JSON.stringify({ ...rest, input: [...history, ...replaced], store: false })))
    })
  )
})
