import t from 'tap'
import { createToolTurnState, mergeProviderState, readProviderState } from '../../../worker/normalized/index.ts'

t.test('state from a client keeps strings under names, also those of a kind that nobody knows', async t => {
  const state = {
    native: { toolStateId: 't', threadId: 'h', messageId: 'm' },
    chat_compatible: { reasoningDetails: '[]', extraContent: '{}' },
    messages_compatible: { signature: 's', redacted: 'r' },
    content_compatible: { thoughtSignature: 'c' }
  }
  t.strictSame(readProviderState(state), state)
  t.strictSame(readProviderState({ native: { toolStateId: 't', messageId: 3 }, toy: { seal: 's' } }), {
    native: { toolStateId: 't' },
    toy: { seal: 's' }
  })
  const hostile = JSON.parse('{"__proto__":{"a":"b"},"constructor":{"__proto__":"c"},"a b":{"a":"b"},"k":{"a-b":"c"}}')
  t.equal(readProviderState(hostile), undefined)
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`m${index}`, 'x']))
  t.equal(Object.keys(readProviderState({ toy: many })?.toy ?? {}).length, 16)
  for (const value of [undefined, null, 'text', [], {}, { native: 1 }, { native: {} }]) {
    t.equal(readProviderState(value), undefined)
  }
})

t.test('states are merged member by member and the later value wins', async t => {
  const earlier = { native: { toolStateId: 'a', messageId: 'm' }, messages_compatible: { signature: 's' } }
  const later = { native: { toolStateId: 'b' }, content_compatible: { thoughtSignature: 'c' } }
  t.strictSame(mergeProviderState(earlier, later), {
    native: { toolStateId: 'b', messageId: 'm' },
    messages_compatible: { signature: 's' },
    content_compatible: { thoughtSignature: 'c' }
  })
  t.strictSame(mergeProviderState({ toy: { seal: 'a', more: 'b' } }, { toy: { seal: 'c' } }), {
    toy: { seal: 'c', more: 'b' }
  })
  t.equal(mergeProviderState(undefined, later), later)
  t.strictSame(createToolTurnState('a'), { native: { toolStateId: 'a' } })
})
