import t from 'tap'
import { readToolCallId, writeToolCallId } from '../../worker/normalized/index.ts'
import * as fc from '../support/properties.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const anyText = fc.string({ unit: 'grapheme', maxLength: 200 })
const identity = fc.record({
  stateId: fc.option(fc.oneof(fc.uuid(), anyText), { nil: undefined }),
  name: fc.option(fc.oneof(fc.string({ minLength: 1, maxLength: 64 }), anyText), { nil: undefined }),
  callNumber: fc.nat({ max: 255 }),
  nonce: fc.oneof(fc.uuid(), anyText)
})

/** A longer state id that is no uuid makes an id that wires with a bound map (decisions.md 39 and 85). */
function maxLength({ stateId = '', name }: { stateId: string | undefined; name: string | undefined }): number {
  if (name !== undefined) return 128
  return Buffer.byteLength(stateId) <= 19 || UUID.test(stateId) ? 40 : 62
}

t.test('decisions.md 39: an id has a bounded length and the alphabet of all SDKs (B4)', async t => {
  fc.assert(
    fc.property(identity, given => {
      const id = writeToolCallId(given)
      if (!/^[a-zA-Z0-9_-]+$/.test(id) || id.length > maxLength(given)) throw new Error(id)
    })
  )
  t.pass()
})

t.test('what an id gives back is what went in, or nothing', async t => {
  fc.assert(
    fc.property(identity, given => {
      const read = readToolCallId(writeToolCallId(given))
      if (read.stateId !== undefined && read.stateId !== given.stateId) throw new Error(`state ${read.stateId}`)
      if (read.name !== undefined && read.name !== given.name) throw new Error(`name ${read.name}`)
      if (read.callNumber !== given.callNumber) throw new Error(`number ${read.callNumber}`)
    })
  )
  t.pass()
})

t.test('decisions.md 39: the calls of any states have ids of their own', async t => {
  const calls = fc.uniqueArray(fc.record({ stateId: fc.uuid(), callNumber: fc.nat({ max: 255 }) }), {
    selector: ({ stateId, callNumber }) => `${stateId} ${callNumber}`
  })
  fc.assert(
    fc.property(calls, fc.option(fc.constant('f'), { nil: undefined }), (calls, name) => {
      const ids = calls.map(call => writeToolCallId({ ...call, name, nonce: '' }))
      if (new Set(ids).size !== calls.length) throw new Error(ids.join())
    })
  )
  t.pass()
})

t.test("the upstream's uuids and the names of functions always come back", async t => {
  const name = fc.option(fc.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/), { nil: undefined })
  fc.assert(
    fc.property(fc.uuid(), name, fc.nat({ max: 255 }), (stateId, name, callNumber) => {
      const read = readToolCallId(writeToolCallId({ stateId, name, callNumber, nonce: '' }))
      if (read.stateId !== stateId || read.name !== name || read.callNumber !== callNumber || !read.isOwn) {
        throw new Error(JSON.stringify(read))
      }
    })
  )
  t.pass()
})

t.test('no text makes the reader of ids fail', async t => {
  const prefixed = fc
    .tuple(fc.constantFrom('', 'call_', 'fc_', 'call_gw_', 'toolu_', 'fc_call_gw_'), anyText)
    .map(([prefix, rest]) => prefix + rest)
  fc.assert(
    fc.property(prefixed, id => {
      readToolCallId(id)
    })
  )
  t.pass()
})
