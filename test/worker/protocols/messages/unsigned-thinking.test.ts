// Unsigned thinking of a client on its way to a provider of the same wire: that of the provider goes back, that of another route, which
// services with signatures refuse, does not (decisions.md 75 and 82).

import t from 'tap'
import { accumulateEvents, type JsonObject, writeToolCallId } from '../../../../worker/normalized/index.ts'
import { writeMessagesResponse } from '../../../../worker/protocols/messages/client/write-response.ts'
import { messagesSameWire } from '../../../../worker/protocols/messages/same-wire.ts'
import { eventsOf, responseContext } from './client/support.ts'

const options = { messagesPath: '/v1/messages', countTokensPath: '/v1/messages/count_tokens', modelsPath: '/v1/models' }
const budget = { type: 'enabled', budget_tokens: 2000 }
const unsigned = { type: 'thinking', thinking: 'Hm', signature: '' }
const call = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const ownId = writeToolCallId({ stateId: undefined, name: undefined, callNumber: 0, nonce: 'n' })

/** The blocks of a turn as the provider gets them, and whether the budget goes with them. */
function send(content: JsonObject[]): { content: unknown; hasBudget: boolean } {
  const results = content.flatMap(({ type, id }) =>
    type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id as string, content: 'x' }] : []
  )
  const next = results.length > 0 ? results : [{ type: 'text', text: 'And?' }]
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content },
    { role: 'user', content: next }
  ]
  const body: JsonObject = { model: 'a', max_tokens: 4000, thinking: budget, messages }
  const written = messagesSameWire.writeChat(body, { upstreamModel: 'b', isStream: false }, options).body
  const turn = (written.messages as JsonObject[])[1]
  return { content: turn?.content, hasBudget: written.thinking !== undefined }
}

t.test('the thinking of a turn with the ids of the provider goes back', async t => {
  for (const turn of [
    [unsigned, call('toolu_1')],
    [unsigned, { type: 'text', text: 'I look.' }, call('toolu_1'), unsigned, call('call_2')]
  ]) {
    t.strictSame(send(turn), { content: turn, hasBudget: true })
  }
})

t.test('the thinking of another route is left out', async t => {
  t.strictSame(send([unsigned, call(ownId)]), { content: [call(ownId)], hasBudget: false })
  const state = Buffer.from('gateway-state:{"content_compatible":{"thoughtSignature":"s"}}').toString('base64')
  const carrier = { type: 'thinking', thinking: '', signature: state }
  t.strictSame(send([unsigned, carrier, call('c1')]), { content: [call('c1')], hasBudget: false })
  const text = { type: 'text', text: 'So.' }
  t.strictSame(send([unsigned, text]), { content: [text], hasBudget: true }, 'a turn without calls needs none')
})

t.test('a whole response of another route is known by its calls', async t => {
  const write = (id: string) => {
    const events = eventsOf(assembler => {
      assembler.reasoning('Hm')
      assembler.toolCall({ id, name: 'f' }, '{}')
    })
    return writeMessagesResponse(accumulateEvents(events), responseContext()).content as unknown as JsonObject[]
  }
  for (const id of ['call_1', ownId]) {
    const { content } = send(write(id))
    t.match(content, [{ type: 'tool_use', id }])
    t.equal((content as JsonObject[]).length, 1)
  }
  t.match(write(ownId)[0], { signature: '' }, 'native routes have the empty signature (messages.md 5)')
})
