import t from 'tap'
import type { JsonObject } from '../../../../worker/normalized/index.ts'
import { messagesFace } from '../../../../worker/protocols/messages/client/face.ts'
import { GATEWAY_SIGNATURE } from '../../../../worker/protocols/messages/client/signature.ts'
import { messagesSameWire } from '../../../../worker/protocols/messages/same-wire.ts'

const options = { messagesPath: '/v1/messages', countTokensPath: '/v1/messages/count_tokens', modelsPath: '/v1/models' }

function write(body: JsonObject, upstreamModel: string, outputTokensMax?: number) {
  return messagesSameWire.writeChat(body, { upstreamModel, outputTokensMax, isStream: false }, options)
}

function writeSent(body: JsonObject, upstreamModel: string): JsonObject {
  return write(body, upstreamModel).body
}

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
  t.strictSame(writeSent(body, 'b'), {
    model: 'b',
    messages: [user, { role: 'assistant', content: [call] }, results]
  })
})

t.test('a budget stays where the service accepts it', async t => {
  const answer = { role: 'assistant', content: [foreign, { type: 'text', text: 'So' }] }
  const ended = { model: 'a', thinking: budget, messages: [user, answer, user] }
  t.strictSame(writeSent(ended, 'b').thinking, budget, 'the turn has ended')
  const signed = { role: 'assistant', content: [own, call] }
  const running = { model: 'a', thinking: budget, messages: [user, answer, user, signed, results] }
  t.strictSame(writeSent(running, 'b').thinking, budget, 'the running turn has its own thinking')
  const adaptive = {
    model: 'a',
    thinking: { type: 'adaptive' },
    messages: [user, { ...answer, content: [foreign, call] }, results]
  }
  t.strictSame(writeSent(adaptive, 'b').thinking, { type: 'adaptive' })
  const unthought = { model: 'a', thinking: budget, messages: [user, { role: 'assistant', content: [call] }, results] }
  t.strictSame(writeSent(unthought, 'b').thinking, budget, 'the client left it out itself')
})

t.test(
  'blocks of the assistant that only the gateway writes are left out: thinking with its signature and the text of an empty response',
  async t => {
    const empty = { type: 'text', text: '' }
    const text = { type: 'text', text: 'So' }
    const messages = [
      user,
      { role: 'assistant', content: [foreign, text] },
      { role: 'user', content: [empty] },
      { role: 'assistant', content: [empty] },
      user
    ]
    t.strictSame(writeSent({ model: 'a', messages }, 'b').messages, [
      user,
      { role: 'assistant', content: [text] },
      { role: 'user', content: [empty] },
      user
    ])
  }
)

t.test('unsigned thinking goes back to a provider that signs none, with its budget (decisions.md 82)', async t => {
  const unsigned = { ...foreign, signature: '' }
  const messages = [user, { role: 'assistant', content: [unsigned, call] }, results]
  t.strictSame(writeSent({ model: 'a', thinking: budget, messages }, 'b'), { model: 'b', thinking: budget, messages })
})

t.test('the output and the thinking are bounded by the alias, with a notice (decisions.md 72)', async t => {
  const send = (members: JsonObject, outputTokensMax: number) => {
    const { body, leftOut } = write({ model: 'a', messages: [user], ...members }, 'b', outputTokensMax)
    const { model: _model, messages: _messages, ...sent } = body
    return [sent, leftOut]
  }
  t.strictSame(send({ max_tokens: 100 }, 100), [{ max_tokens: 100 }, undefined])
  t.strictSame(send({ max_tokens: 101 }, 100), [{ max_tokens: 100 }, ['max_tokens']])
  t.strictSame(send({ max_tokens: 9000, thinking: budget }, 4000), [
    { max_tokens: 4000, thinking: budget },
    ['max_tokens']
  ])
  t.strictSame(send({ max_tokens: 9000, thinking: budget }, 2000), [
    { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1999 } },
    ['max_tokens', 'thinking.budget_tokens']
  ])
  t.strictSame(send({ max_tokens: 9000, thinking: budget }, 1024), [{ max_tokens: 1024 }, ['max_tokens', 'thinking']])
})

t.test(
  'media that the alias cannot read are described in the history, and refused in the newest turn (decisions.md 72)',
  async t => {
    const send = (messages: JsonObject[], features: readonly string[]) => {
      const body = { model: 'a', max_tokens: 9, messages }
      const read = messagesFace.readRequest(body, { requestId: 'r' }).messages
      const target = { upstreamModel: 'b', isStream: false, messages: read, features }
      const written = messagesSameWire.writeChat(body, target, options)
      return [written.body.messages, written.leftOut]
    }
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const described = { type: 'text', text: '[image/png, 3 bytes: this model reads no images]' }
    const seen = { role: 'user', content: [image] }
    const answer = { role: 'assistant', content: [call] }
    const result = (content: JsonObject[]) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'a', content }]
    })
    t.strictSame(send([seen, answer, result([image])], []), [
      [{ role: 'user', content: [described] }, answer, result([described])],
      ['messages[0].content[0]', 'messages[2].content[0].content[0]']
    ])
    t.strictSame(send([seen, answer, result([image])], ['image_references'])[1], undefined)
    t.throws(() => send([user, { role: 'assistant', content: 'x' }, seen], []), { code: 'unsupported_semantic' })
  }
)
