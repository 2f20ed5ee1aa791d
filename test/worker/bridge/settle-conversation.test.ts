import t from 'tap'
import { settleConversation } from '../../../worker/bridge/settle-conversation.ts'
import type { Conversation } from '../../../worker/normalized/index.ts'
import { nativeV1Acceptance, nativeV2Acceptance } from '../../../worker/protocols/native/acceptance.ts'
import { makeRequest } from '../protocols/native/support.ts'

function settle(conversation: Conversation, acceptance = nativeV2Acceptance): Conversation | undefined {
  const request = makeRequest({ conversation: { ...conversation } })
  settleConversation(request, acceptance)
  return request.conversation
}

t.test('where the provider stores conversations, the default stores and a conversation has no effect', async t => {
  // decisions.md 90
  t.strictSame(settle({ conversationId: 'c' }), { conversationId: 'c' })
  t.match(settle({ storesByDefault: true }), { store: true })
  t.strictSame(settle({ previousResponseId: 'resp_T', storedConversationId: 'T' }), {
    previousResponseId: 'resp_T',
    storedConversationId: 'T'
  })
  t.strictSame(settle({ store: false }), { store: false })
})

t.test('where the provider stores none, both have no effect', async t => {
  const conversation: Conversation = { conversationId: 'c', storesByDefault: true }
  t.strictSame(settle(conversation, nativeV1Acceptance), conversation)
})

t.test('a request without such members stays without them', async t => {
  const request = makeRequest({})
  settleConversation(request, nativeV2Acceptance)
  t.notOk('conversation' in request)
})
