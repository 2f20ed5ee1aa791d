// What real providers of chat completions answered, byte for byte, and what they are asked (decisions.md 74, 78, 81 and 107):
// through every client protocol, whole and streamed.

import t from 'tap'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { lastUpstreamChat, post, readFrames } from '../../support/client.ts'
import { writeChatProfile } from '../../support/profile-gateway.ts'
import { ask, type Family, families, type Loose, send } from './families.ts'
import { chat, content, messages, NATIVE_ALIAS, startBridge } from './providers/index.ts'

const LIMITED = 'cases/limited'
const UNDECLARED = 'cases/undeclared'

const bridge = await startBridge(t, {
  profiles: emulator => [
    writeChatProfile({
      id: 'cases',
      kind: 'chat_compatible',
      baseUrl: chat.baseUrl(emulator, 'keyless', 'cases'),
      aliases: [
        { alias: LIMITED, more: { output_limit_field: 'max_completion_tokens' } },
        { alias: UNDECLARED, features: FEATURE_NAMES.filter(name => name !== 'reasoning_effort') }
      ]
    })
  ]
})
const { gateway, emulator } = bridge
const model = chat.aliases.keyless

const head = { id: 'c1', created: 1, model: 'up' }
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

interface Answer {
  message: object
  reason?: unknown
  counts?: object
  more?: object
}

/** The next call is answered so, as one body or as a stream of the message, the end and the usage. */
function answerNext(isStream: boolean, { message, reason = 'stop', counts = usage, more = {} }: Answer): void {
  if (!isStream) {
    const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }
    emulator.respondNext({ body: { ...head, object: 'chat.completion', ...more, choices: [choice], usage: counts } })
    return
  }
  const chunk = (members: object) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more, ...members })}\n\n`
  emulator.respondNext({
    headers: { 'content-type': 'text/event-stream' },
    chunks: [
      chunk({ choices: [{ index: 0, delta: { role: 'assistant', ...message }, finish_reason: null }] }),
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: reason }] }),
      chunk({ choices: [], usage: counts }),
      'data: [DONE]\n\n'
    ]
  })
}

const ends = { completions: 'tool_calls', responses: 'completed', messages: 'tool_use', content: 'STOP' }
const stops = { completions: 'stop', responses: 'completed', messages: 'end_turn', content: 'STOP' }

for (const family of families) {
  for (const isStream of [false, true]) {
    const how = `${family.name}, ${isStream ? 'streamed' : 'whole'}`
    const put = (answer: Answer, more: object = {}) => {
      answerNext(isStream, answer)
      return ask(gateway.url, family, { model, prompt: 'hello', isStream, more })
    }

    t.test(`a call in every form is one call with an id: ${how}`, async t => {
      const text = '{"a":"x"}'
      const calls: Record<string, object> = {
        'no type': { id: 'call_1', function: { name: 'f', arguments: text } },
        'a type of null': { id: 'call_1', type: null, function: { name: 'f', arguments: text } },
        'an empty type': { id: 'call_1', type: '', function: { name: 'f', arguments: text } },
        'no id': { type: 'function', function: { name: 'f', arguments: text } },
        'an id of null': { id: null, type: 'function', function: { name: 'f', arguments: text } },
        'an object': { id: 'call_1', type: 'function', function: { name: 'f', arguments: { a: 'x' } } }
      }
      for (const [name, call] of Object.entries(calls)) {
        const message = { content: null, tool_calls: [isStream ? { index: 0, ...call } : call] }
        const outcome = await put({ message, reason: 'tool_calls' }, family.tools)
        t.match(outcome.calls, [{ name: 'f', arguments: { a: 'x' }, id: /^call_/ }], name)
        t.equal(outcome.calls.length, 1, name)
        t.equal(outcome.finish, ends[family.name], name)
      }
    })

    t.test(`the content of an answer may be a list: ${how}`, async t => {
      const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'think' }] }
      const message = { content: [thinking, { type: 'text', text: 'hi' }] }
      const outcome = await put({ message }, family.showsReasoning)
      t.match(outcome, { text: 'hi', reasoning: 'think', finish: stops[family.name] })
    })

    t.test(`cached tokens beside the totals count: ${how}`, async t => {
      for (const name of ['cached_tokens', 'prompt_cache_hit_tokens']) {
        const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, [name]: 8 }
        t.match((await put({ message: { content: 'a' }, counts })).usage, { input: 10, output: 5, cached: 8 }, name)
      }
    })

    t.test(`a whole answer without a reason has ended: ${how}`, async t => {
      if (isStream) return
      for (const reason of [null, '', undefined]) {
        t.match(await put({ message: { content: 'hi' }, reason }), { text: 'hi', finish: stops[family.name] })
      }
    })

    if (family.name !== 'completions') continue
    t.test(`the fingerprint is the provider's, or absent: ${how}`, async t => {
      const fingerprints = async (more: object) => {
        answerNext(isStream, { message: { content: 'hi' }, more })
        const { text } = await send(gateway.url, family, { model, prompt: 'hello', isStream })
        const payloads: Loose[] = isStream ? readFrames(text).filter(frame => frame !== '[DONE]') : [JSON.parse(text)]
        return [...new Set(payloads.map(payload => payload.system_fingerprint))]
      }
      t.strictSame(await fingerprints({}), [undefined])
      t.strictSame(await fingerprints({ system_fingerprint: 'fp_1' }), ['fp_1'])
    })
  }
}

t.test('the fingerprint of other wires is absent, that of the native upstream the gateway’s own', async t => {
  const body = (name: string) => ({ model: name, messages: [{ role: 'user', content: 'hi' }] })
  const fingerprint = async (name: string) =>
    (await post(`${gateway.url}/v1/chat/completions`, body(name))).json.system_fingerprint
  t.equal(await fingerprint(messages.aliases.keyless), undefined)
  t.equal(await fingerprint(content.aliases.keyless), undefined)
  t.match(await fingerprint(NATIVE_ALIAS), /^fp_[0-9a-f-]{36}$/)
})

t.test('decisions.md 107: the usage of a stream is asked for, and stands alone', async t => {
  for (const name of [NATIVE_ALIAS, chat.aliases.keyless, messages.aliases.keyless, content.aliases.keyless]) {
    const stream = async (more: object) => {
      const body = { model: name, stream: true, messages: [{ role: 'user', content: '[[text:hi]]' }], ...more }
      const frames = readFrames((await post(`${gateway.url}/v1/chat/completions`, body)).text)
      t.equal(frames.pop(), '[DONE]')
      return frames as Loose[]
    }
    const unasked = await stream({})
    t.notOk(
      unasked.some(frame => 'usage' in frame),
      `${name}: ${JSON.stringify(unasked)}`
    )
    t.equal(unasked.at(-1).choices[0].finish_reason, 'stop')
    const asked = await stream({ stream_options: { include_usage: true } })
    const last = asked.pop()
    t.strictSame(last.choices, [], name)
    t.type(last.usage.total_tokens, 'number')
    t.equal(asked.at(-1).choices[0].finish_reason, 'stop')
    for (const frame of asked) t.equal(frame.usage, null, `${name}: ${JSON.stringify(frame)}`)
  }
})

/** The members with which a client of each family limits its output to 99 tokens. */
const limits: Record<Family['name'], object> = {
  completions: { max_tokens: 99 },
  responses: { max_output_tokens: 99 },
  messages: { max_tokens: 99 },
  content: { generationConfig: { maxOutputTokens: 99 } }
}

t.test('decisions.md 74: the output limit has the name that the alias or the client of the wire says', async t => {
  for (const family of families) {
    for (const isStream of [false, true]) {
      const sent = async (name: string, more: object) => {
        await ask(gateway.url, family, { model: name, prompt: 'hello', isStream, more })
        const { max_tokens, max_completion_tokens } = lastUpstreamChat(emulator).body as Loose
        return { max_tokens, max_completion_tokens }
      }
      const older = { max_tokens: 99, max_completion_tokens: undefined }
      const newer = { max_tokens: undefined, max_completion_tokens: 99 }
      t.strictSame(await sent(LIMITED, limits[family.name]), newer, family.name)
      t.strictSame(await sent(model, limits[family.name]), older, family.name)
      if (family.name !== 'completions') continue
      t.strictSame(await sent(model, { max_completion_tokens: 99 }), newer)
      t.strictSame(await sent(LIMITED, { max_completion_tokens: 99 }), newer)
    }
  }
})

t.test('decisions.md 78: metadata of other clients does not reach a chat provider', async t => {
  const metadata = { user_id: 'user_0123456789' }
  for (const family of families) {
    if (family.name === 'content') continue
    await ask(gateway.url, family, { model, prompt: 'hello', more: { metadata } })
    const { body } = lastUpstreamChat(emulator) as Loose
    t.strictSame(body.metadata, family.name === 'completions' ? metadata : undefined, family.name)
    t.notOk(JSON.stringify(body.user ?? '').includes('user_0123456789'), family.name)
  }
})

/** The members with which a client of each family switches thinking off. */
const offSwitches: Record<Family['name'], object> = {
  completions: { reasoning_effort: 'none' },
  responses: { reasoning: { effort: 'none' } },
  messages: { thinking: { type: 'disabled' } },
  content: { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }
}

t.test('decisions.md 81: the effort none is sent where the alias declares efforts', async t => {
  for (const family of families) {
    const effort = async (name: string) => {
      await ask(gateway.url, family, { model: name, prompt: 'hello', more: offSwitches[family.name] })
      return (lastUpstreamChat(emulator).body as Loose).reasoning_effort
    }
    t.equal(await effort(model), 'none', family.name)
    if (family.name !== 'completions') t.equal(await effort(UNDECLARED), undefined, family.name)
  }
})
