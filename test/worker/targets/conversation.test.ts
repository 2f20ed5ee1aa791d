import t from 'tap'
import type { NormalizedMessage } from '../../../worker/normalized/index.ts'
import { describeConversation } from '../../../worker/targets/conversation.ts'

const message = (role: NormalizedMessage['role'], text: string): NormalizedMessage => ({
  role,
  content: [{ type: 'text', text }]
})
const system = message('system', 'You are helpful.')
const question = message('user', 'Why?')
const describe = (messages: NormalizedMessage[], body?: { prompt_cache_key?: string }) =>
  describeConversation({ messages }, body)

t.test('later turns do not change the conversation', async t => {
  const first = describe([system, question])
  t.equal(describe([system, question, message('assistant', 'So.'), message('user', 'And?')]), first)
  t.not(describe([system, message('user', 'Who?')]), first)
  t.not(describe([message('system', 'Be brief.'), question]), first)
})

t.test("the client's own key decides alone", async t => {
  const keyed = describe([system, question], { prompt_cache_key: 'session-1' })
  t.equal(describe([message('user', 'else')], { prompt_cache_key: 'session-1' }), keyed)
  t.not(describe([system, question], { prompt_cache_key: 'session-2' }), keyed)
  t.equal(describe([system, question], { prompt_cache_key: '' }), describe([system, question]))
})

t.test('pictures tell conversations apart, and only the beginning of a text counts', async t => {
  const picture = (base64: string): NormalizedMessage => ({
    role: 'user',
    content: [{ type: 'image', source: { kind: 'bytes', mediaType: 'image/png', base64 }, path: 'x' }]
  })
  t.not(describe([picture('aaaa')]), describe([picture('aaab')]))
  const long = 'x'.repeat(20_000)
  t.equal(describe([message('system', `${long}1`), question]), describe([message('system', `${long}2`), question]))
})

t.test('texts that join to the same text are different conversations', async t => {
  t.not(
    describe([message('system', 'ab'), message('user', 'c')]),
    describe([message('system', 'a'), message('user', 'bc')])
  )
})
