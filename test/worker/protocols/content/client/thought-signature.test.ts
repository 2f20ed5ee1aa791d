import t from 'tap'
import { writeToolCallId } from '../../../../../worker/normalized/index.ts'
import {
  readThoughtSignature,
  writeThoughtSignature
} from '../../../../../worker/protocols/content/client/thought-signature.ts'
import * as fc from '../../../../support/properties.ts'

const callId = writeToolCallId({ stateId: 'ts-1', name: 'weather', callNumber: 0, nonce: 'n' })

t.test('the signature of a call contains its id in base64 (C3)', async t => {
  const signature = writeThoughtSignature({ callId, state: { native: { toolStateId: 'ts-1' } } }) ?? ''
  t.match(signature, /^[A-Za-z0-9+/]+=*$/)
  t.strictSame(readThoughtSignature(signature), { callId })
})

t.test('a signature is read in the URL-safe alphabet and without padding too', async t => {
  const signature = writeThoughtSignature({ callId }) ?? ''
  const urlSafe = Buffer.from(signature, 'base64').toString('base64url')
  t.strictSame(readThoughtSignature(urlSafe), { callId })
})

t.test("a provider's signature stays unchanged in both directions", async t => {
  const state = { content_compatible: { thoughtSignature: 'CiQB0v8=' } }
  t.equal(writeThoughtSignature({ callId, state }), 'CiQB0v8=')
  t.strictSame(readThoughtSignature('CiQB0v8='), { state })
})

t.test('state of other providers is kept, without unknown members', async t => {
  const state = {
    messages_compatible: { signature: 'sig', redacted: 'red' },
    chat_compatible: { reasoningDetails: '[]' }
  }
  const signature = writeThoughtSignature({ callId: 'call_7', state }) ?? ''
  t.strictSame(readThoughtSignature(signature), { state })
  const forged = Buffer.from('gateway-state:{"native":{"toolStateId":"a","extra":1,"threadId":2},"other":{}}').toString(
    'base64'
  )
  t.strictSame(readThoughtSignature(forged), { state: { native: { toolStateId: 'a' } } })
})

t.test('a part without state has no signature', async t => {
  t.equal(writeThoughtSignature({ callId: 'call_7' }), undefined)
  t.equal(writeThoughtSignature({}), undefined)
})

t.test('values that are no signature are ignored', async t => {
  for (const signature of ['skip_thought_signature_validator', '', null, 3, undefined, 'A'.repeat(300_000)]) {
    t.strictSame(readThoughtSignature(signature), {})
  }
})

t.test('any text is read without an error, and never as an id that the gateway issued', async () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String()), text => readThoughtSignature(text).callId === undefined)
  )
})
