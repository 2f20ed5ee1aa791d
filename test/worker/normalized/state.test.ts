import t from 'tap'
import { createToolTurnState, mergeProviderState, readProviderState } from '../../../worker/normalized/index.ts'

t.test('state from a client keeps strings under known names only', async t => {
  const state = {
    native: { toolStateId: 't', threadId: 'h', messageId: 'm' },
    chat_compatible: { reasoningDetails: '[]', extraContent: '{}' },
    messages_compatible: { signature: 's', redacted: 'r' },
    content_compatible: { thoughtSignature: 'c' }
  }
  t.strictSame(readProviderState(state), state)
  t.strictSame(readProviderState({ native: { toolStateId: 't', other: 'x', messageId: 3 }, unknown: { a: 'b' } }), {
    native: { toolStateId: 't' }
  })
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
  t.equal(mergeProviderState(undefined, later), later)
  t.strictSame(createToolTurnState('a'), { native: { toolStateId: 'a' } })
})
