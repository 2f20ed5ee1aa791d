import t from 'tap'
import { GATEWAY_SIGNATURE } from '../../../../../worker/protocols/messages/client/signature.ts'
import { writePassedBody } from '../../../../../worker/protocols/messages/provider/passed-body.ts'

const user = { role: 'user', content: 'Hi' }
const call = { type: 'tool_use', id: 'a', name: 'f', input: {} }
const results = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] }
const foreign = { type: 'thinking', thinking: 'Hm', signature: GATEWAY_SIGNATURE }
const own = { type: 'thinking', thinking: 'Hm', signature: 'c2lnbmVk' }
const budget = { type: 'enabled', budget_tokens: 2000 }

t.test('a turn that goes on without its foreign thinking goes on without a budget', async t => {
  const body = {
    model: 'a',
    thinking: budget,
    messages: [user, { role: 'assistant', content: [foreign, call] }, results]
  }
  t.strictSame(writePassedBody(body, 'b'), {
    model: 'b',
    messages: [user, { role: 'assistant', content: [call] }, results]
  })
})

t.test('a budget stays where the service accepts it', async t => {
  const answer = { role: 'assistant', content: [foreign, { type: 'text', text: 'So' }] }
  const ended = { model: 'a', thinking: budget, messages: [user, answer, user] }
  t.strictSame(writePassedBody(ended, 'b').thinking, budget, 'the turn has ended')
  const signed = { role: 'assistant', content: [own, call] }
  const running = { model: 'a', thinking: budget, messages: [user, answer, user, signed, results] }
  t.strictSame(writePassedBody(running, 'b').thinking, budget, 'the running turn has its own thinking')
  const adaptive = {
    model: 'a',
    thinking: { type: 'adaptive' },
    messages: [user, { ...answer, content: [foreign, call] }, results]
  }
  t.strictSame(writePassedBody(adaptive, 'b').thinking, { type: 'adaptive' })
  const unthought = { model: 'a', thinking: budget, messages: [user, { role: 'assistant', content: [call] }, results] }
  t.strictSame(writePassedBody(unthought, 'b').thinking, budget, 'the client left it out itself')
})

t.test(
  'blocks of the assistant that only the gateway writes are left out: unsigned thinking and the text of an empty response',
  async t => {
    const unsigned = { ...foreign, signature: '' }
    const empty = { type: 'text', text: '' }
    const text = { type: 'text', text: 'So' }
    const messages = [
      user,
      { role: 'assistant', content: [unsigned, text] },
      { role: 'user', content: [empty] },
      { role: 'assistant', content: [empty] },
      user
    ]
    t.strictSame(writePassedBody({ model: 'a', messages }, 'b').messages, [
      user,
      { role: 'assistant', content: [text] },
      { role: 'user', content: [empty] },
      user
    ])
  }
)
