import t from 'tap'
import { lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { ask, model, type Version, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway()

/** The members that the upstream received for a question with these members, except model and messages. */
async function sent(version: Version, more: object, messages: object[] = [{ role: 'user', content: 'hi' }]) {
  const response = await ask(gateway, version, 'hi', { max_tokens: undefined, messages, ...more })
  if (response.status !== 200) throw new Error(response.text)
  const { model: _model, messages: conversation, ...rest } = lastUpstreamChat(emulator).body
  return { conversation, rest }
}

t.test('messages 10: the blocks of a system array become one system message at the start', async t => {
  const system = [
    { type: 'text', text: 's1', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 's2', cache_control: { type: 'ephemeral', ttl: '1h' } }
  ]
  const v1 = await sent('v1', { system })
  t.strictSame(v1.conversation, [
    { role: 'system', content: 's1\ns2' },
    { role: 'user', content: 'hi' }
  ])
  t.strictSame(v1.rest, {})
  const v2 = await sent('v2', { system })
  t.strictSame(v2.conversation[0], { role: 'system', content: [{ text: 's1\ns2' }] })
  t.strictSame((await sent('v1', { system: 'alone' })).conversation[0], { role: 'system', content: 'alone' })
})

t.test('decisions.md 57: billing lines of a system instruction are not sent', async t => {
  const line = 'x-anthropic-billing-header: cc_version=2.1.330; cc_entrypoint=sdk-cli; cch=0e1f2;'
  const user = { role: 'user', content: 'hi' }
  for (const [system, text] of [
    [
      [
        { type: 'text', text: line },
        { type: 'text', text: 's1' }
      ],
      's1'
    ],
    [`${line}\r\ns1\n${line}\ns2`, 's1\ns2'],
    [`s1 ${line}`, `s1 ${line}`],
    ['about x-anthropic-billing-header', 'about x-anthropic-billing-header']
  ] as const) {
    t.strictSame((await sent('v1', { system })).conversation, [{ role: 'system', content: text }, user])
    t.strictSame((await sent('v2', { system })).conversation[0], { role: 'system', content: [{ text }] })
  }
  t.strictSame((await sent('v1', { system: line })).conversation, [user])
  const messages = [user, { role: 'system', content: `${line}\nrules` }]
  t.strictSame((await sent('v1', {}, messages)).conversation, [{ role: 'system', content: 'rules' }, user])
})

t.test('an empty system is not sent as a message', async t => {
  for (const system of [undefined, null, '', [], [{ type: 'text', text: '' }]]) {
    t.strictSame((await sent('v1', { system })).conversation, [{ role: 'user', content: 'hi' }])
    t.strictSame((await sent('v2', { system })).conversation, [{ role: 'user', content: [{ text: 'hi' }] }])
  }
})

t.test('a system message in the messages is sent first when the request has no other', async t => {
  const content = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' }
  ]
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'system', content }
  ]
  t.strictSame((await sent('v1', {}, messages)).conversation, [
    { role: 'system', content: 'a\nb' },
    { role: 'user', content: 'hi' }
  ])
  t.strictSame((await sent('v1', { system: 'first' }, messages)).conversation, [
    { role: 'system', content: 'first' },
    { role: 'user', content: 'hi\na\nb' }
  ])
})

t.test('messages 11, 12: a temperature of zero becomes a top_p of zero, any other is forwarded', async t => {
  t.strictSame((await sent('v1', { temperature: 0, top_p: 0.9 })).rest, { top_p: 0 })
  t.strictSame((await sent('v2', { temperature: 0, top_p: 0.9 })).rest, { model_options: { top_p: 0 } })
  t.strictSame((await sent('v1', { temperature: 0.3 })).rest, { temperature: 0.3 })
  t.strictSame((await sent('v2', { temperature: 0.3, top_p: 0.5 })).rest, {
    model_options: { temperature: 0.3, top_p: 0.5 }
  })
  t.strictSame((await sent('v1', { temperature: -1 })).rest, {})
})

t.test('decisions.md 56: a top_p or top_k of -1 is not set', async t => {
  for (const version of versions) t.strictSame((await sent(version, { top_p: -1, top_k: -1 })).rest, {}, version)
  t.strictSame((await sent('v1', { temperature: 0.3, top_p: -1 })).rest, { temperature: 0.3 })
  t.strictSame((await sent('v1', { top_p: 0.1 })).rest, { top_p: 0.1 })
})

t.test('messages 13, 14: parameters that only the vendor’s service has are accepted and not sent upstream', async t => {
  const ignored = {
    top_k: 5,
    metadata: { user_id: 'u' },
    service_tier: 'auto',
    container: 'c',
    mcp_servers: [{ type: 'url', url: 'https://mcp.test', name: 'm' }],
    betas: ['b'],
    context_management: { edits: [] },
    conversation: 'x',
    inference_geo: 'eu',
    speed: 'fast',
    cache_control: { type: 'ephemeral' },
    diagnostics: {},
    user_profile_id: 'p',
    workspace_id: 'w',
    extra_query: { a: '1' }
  }
  for (const version of versions) t.strictSame((await sent(version, ignored)).rest, {}, version)
})

t.test(
  'messages 15: on v2 model options of a literal extra_body are sent at their place and the rest at the root',
  async t => {
    const extra_body = { repetition_penalty: 1.1, storage: { limit: 2 }, top_k: 3, unknown_key: { a: 1 } }
    t.strictSame((await sent('v2', { max_tokens: 50, extra_body })).rest, {
      model_options: { max_tokens: 50, repetition_penalty: 1.1 },
      storage: { limit: 2 },
      top_k: 3,
      unknown_key: { a: 1 }
    })
    t.strictSame((await sent('v1', { extra_body: { repetition_penalty: 1.1, unknown_key: 1 } })).rest, {
      repetition_penalty: 1.1,
      unknown_key: 1
    })
  }
)

t.test('messages 16: the literal extra_body has priority over the same field of the request', async t => {
  for (const version of versions) {
    const { rest } = await sent(version, { tenant: 'top', other: 1, extra_body: { tenant: 'literal' } })
    t.strictSame(rest, { tenant: 'literal', other: 1 }, version)
  }
  const typed = await sent('v1', { temperature: 0.3, extra_body: { temperature: 0.9, model: 'evil', messages: [] } })
  t.strictSame(typed.rest, { temperature: 0.3 }, 'known members of the request cannot be overridden')
  t.equal(lastUpstreamChat(emulator).body.model, model)
})

t.test('messages 17: an extra_body that is not an object is refused in the family’s form', async t => {
  const before = upstreamChats(emulator).length
  for (const extra_body of ['x', [], 1]) {
    const response = await ask(gateway, 'v1', 'hi', { extra_body })
    t.equal(response.status, 400)
    t.strictSame(Object.keys(response.json), ['type', 'error', 'request_id'])
    t.match(response.json.error, { type: 'invalid_request_error', message: /extra_body.* must be an object/ })
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('messages 18: profanity_check false turns the v2 filter off', async t => {
  t.strictSame((await sent('v2', { profanity_check: false })).rest, { disable_filter: true })
  t.strictSame((await sent('v1', { profanity_check: false })).rest, { profanity_check: false })
})

t.test('messages 21, 22: a thinking budget is sent as an effort', async t => {
  const enable = (budget_tokens?: number) => ({ thinking: { type: 'enabled', budget_tokens } })
  for (const [budget, effort] of [
    [1024, 'low'],
    [4000, 'medium'],
    [9000, 'high'],
    [undefined, 'high']
  ] as const) {
    t.strictSame((await sent('v2', enable(budget))).rest, { model_options: { reasoning: { effort } } })
    t.strictSame((await sent('v1', enable(budget))).rest, { reasoning_effort: effort })
  }
  const response = await ask(gateway, 'v1', 'hi', { thinking: { type: 'enabled', budget_tokens: 'many' } })
  t.equal(response.status, 400)
  t.match(response.json.error, { type: 'invalid_request_error', message: /thinking\.budget_tokens/ })
})

t.test(
  'messages 23: thinking that is disabled or adaptive sends no reasoning field, not even an additional one',
  async t => {
    for (const version of versions) {
      for (const type of ['disabled', 'adaptive', 'between_tools']) {
        t.strictSame((await sent(version, { thinking: { type } })).rest, {}, `${version} ${type}`)
      }
      const extra_body = { reasoning_effort: 'high', reasoning: { effort: 'low' } }
      t.strictSame((await sent(version, { thinking: { type: 'disabled' }, extra_body })).rest, {}, version)
    }
  }
)

t.test('messages 24: an effort is forwarded as given and has priority over a budget', async t => {
  t.strictSame((await sent('v2', { output_config: { effort: 'low' } })).rest, {
    model_options: { reasoning: { effort: 'low' } }
  })
  const both = { output_config: { effort: 'max' }, thinking: { type: 'enabled', budget_tokens: 1024 } }
  t.strictSame((await sent('v1', both)).rest, { reasoning_effort: 'max' })
  t.strictSame((await sent('v1', { output_config: { effort: 'none' } })).rest, {})
})

t.test('messages 65: missing or malformed messages are refused with the path of the invalid member', async t => {
  const before = upstreamChats(emulator).length
  const cases: Array<[object, RegExp]> = [
    [{ messages: undefined }, /^messages: Field required/],
    [{ messages: 'hi' }, /^messages: /],
    [{ messages: [] }, /^messages: /],
    [{ messages: ['hi'] }, /^messages\.0: /],
    [{ messages: [{ role: 'robot', content: 'hi' }] }, /^messages\.0\.role: /],
    [{ messages: [{ role: 'user' }] }, /^messages\.0\.content: /],
    [{ messages: [{ role: 'user', content: 5 }] }, /^messages\.0\.content: /],
    [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, /^messages\.0\.content\.0\.text: /],
    [{ stop_sequences: [''] }, /^stop_sequences\.0: /]
  ]
  for (const [more, message] of cases) {
    const response = await ask(gateway, 'v1', 'hi', more)
    t.equal(response.status, 400, String(message))
    t.match(response.json, { type: 'error', error: { type: 'invalid_request_error', message }, request_id: String })
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('a thread is refused with the error that makes the SDK send the whole conversation', async t => {
  const response = await ask(gateway, 'v2', 'hi', { thread: 'auto' })
  t.equal(response.status, 400)
  t.match(response.json.error, {
    type: 'invalid_request_error',
    details: { error_code: 'thread_unsupported_request' }
  })
})
