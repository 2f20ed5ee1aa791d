import Anthropic from '@anthropic-ai/sdk'
import t from 'tap'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { addUp, ask, model, type StreamEvent, stream, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway()
const tools = [{ name: 'get_weather', input_schema: { type: 'object' } }]

const client = (version: string) =>
  new Anthropic({ baseURL: version === 'v1' ? gateway.url : `${gateway.url}/v2`, apiKey: 'unused', maxRetries: 0 })
const question = (content: string) => ({ model, max_tokens: 100, messages: [{ role: 'user' as const, content }] })

function messageDelta(events: StreamEvent[]) {
  return events.find(event => event.type === 'message_delta')
}

t.test('messages 19: the text ends before a stop string, which the response names', async t => {
  for (const version of versions) {
    const response = await ask(gateway, version, '[[text:Hello]]', { stop_sequences: ['xx', 'lo'] })
    t.match(response.json, {
      content: [{ type: 'text', text: 'Hel' }],
      stop_reason: 'stop_sequence',
      stop_sequence: 'lo'
    })
    t.notMatch(JSON.stringify(lastUpstreamChat(emulator).body), /stop/)
  }
})

t.test('messages 20: no part of a stop string that is split over chunks is sent', async t => {
  for (const version of versions) {
    const { events } = await stream(gateway, version, '[[chunks:Hel|l|o|never]]', { stop_sequences: ['lo'] })
    t.strictSame(addUp(events), { blocks: ['text:Hel'], stop: 'stop_sequence' })
    t.equal(messageDelta(events).delta.stop_sequence, 'lo')
    const falseAlarm = await stream(gateway, version, '[[chunks:Hel|l|y]]', { stop_sequences: ['lo'] })
    t.strictSame(addUp(falseAlarm.events), { blocks: ['text:Helly'], stop: 'end_turn' })
  }
})

t.test('an upstream that sends more text after a stop string is cancelled', async t => {
  for (const version of versions) {
    const aborted = emulator.stats.aborted
    const { events } = await stream(gateway, version, '[[tick:20]][[len:5000]]', { stop_sequences: ['word3'] })
    t.strictSame(addUp(events), { blocks: ['text:word1 word2 '], stop: 'stop_sequence' })
    await emulator.waitFor(() => emulator.stats.aborted > aborted)
  }
})

t.test('messages 53: a plain text stream has the family’s complete sequence of events (A8)', async t => {
  for (const version of versions) {
    const { response, events } = await stream(gateway, version, '[[chunks:Hel|lo]][[usage:19,8,5]]')
    t.equal(lastUpstreamChat(emulator).body.stream, true)
    t.match(response.headers.get('content-type'), /^text\/event-stream; charset=utf-8/)
    t.equal(response.headers.get('cache-control'), 'no-cache')
    t.equal(response.headers.get('x-accel-buffering'), 'no')
    const requestId = response.headers.get('request-id')
    const [start, ping, blockStart, ...rest] = events
    t.match(start, {
      type: 'message_start',
      message: {
        id: `msg_${requestId}`,
        type: 'message',
        role: 'assistant',
        content: [],
        model,
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 0, output_tokens: 0 }
      }
    })
    t.strictSame(ping, { type: 'ping' })
    t.match(blockStart, { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
    t.strictSame(rest.slice(0, 3), [
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo' } },
      { type: 'content_block_stop', index: 0 }
    ])
    t.strictSame(rest.slice(3), [
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null },
        usage: { input_tokens: 14, output_tokens: 8, cache_read_input_tokens: 5, cache_creation_input_tokens: 0 }
      },
      { type: 'message_stop' }
    ])
    t.equal(rest.length, 5)
  }
})

t.test(
  'messages 54, 55: text and a call are two closed blocks, wherever the upstream sends the finish reason (A3, A6)',
  async t => {
    for (const version of versions) {
      for (const form of ['', '[[callsplit]]', '[[split:1]]']) {
        const prompt = `${form}[[text:let me]][[tool:get_weather {"city":"Paris"}]]`
        const { events } = await stream(gateway, version, prompt, { tools })
        t.strictSame(addUp(events), {
          blocks: ['text:let me', 'tool_use:{"city":"Paris"}'],
          stop: 'tool_use'
        })
        const types = events.map(event => event.type)
        t.equal(types.indexOf('content_block_stop') < types.lastIndexOf('content_block_start'), true)
        t.equal(types.at(-1), 'message_stop')
      }
      const final = await client(version)
        .messages.stream({
          ...question('[[text:let me]][[tool:get_weather {"city":"Paris"}]]'),
          tools: [{ name: 'get_weather', input_schema: { type: 'object' } }]
        })
        .finalMessage()
      t.match(final.content, [
        { type: 'text', text: 'let me' },
        { type: 'tool_use', name: 'get_weather', input: { city: 'Paris' } }
      ])
    }
  }
)

t.test(
  'messages 56, 57: thoughts are a signed block before the text, in every form in which the upstream sends them',
  async t => {
    const expected = { blocks: ['thinking:why', 'text:Hel'], stop: 'end_turn' }
    for (const version of versions) {
      for (const prompt of [
        '[[text:<think>why</think>Hel]]',
        '[[chunks:<thi|nk>wh|y</TH|INK>Hel]]',
        '[[reason:why]][[text:Hel]]'
      ]) {
        const { events } = await stream(gateway, version, prompt)
        t.strictSame(addUp(events), expected, prompt)
        const types = events.map(event => event.delta?.type ?? event.type)
        const signedAt = types.indexOf('signature_delta')
        t.ok(signedAt > 0 && types[signedAt + 1] === 'content_block_stop', 'the signature closes the block')
        const whole = await ask(gateway, version, prompt)
        t.match(whole.json.content, [
          { type: 'thinking', thinking: 'why', signature: '' },
          { type: 'text', text: 'Hel' }
        ])
      }
    }
  }
)

t.test('thoughts that the client asks to omit are blocks without text', async t => {
  const thinking = { type: 'enabled', budget_tokens: 4000, display: 'omitted' }
  const { response, events } = await stream(gateway, 'v2', '[[reason:why]][[text:Hel]]', { thinking })
  t.strictSame(addUp(events), { blocks: ['thinking:', 'text:Hel'], stop: 'end_turn' })
  t.notMatch(response.text, /why/)
})

t.test(
  'messages 58, 62: a response that ended at the token limit has the stop reason max_tokens, whole and streamed',
  async t => {
    for (const version of versions) {
      const { events } = await stream(gateway, version, '[[finish:length]]')
      t.equal(addUp(events).stop, 'max_tokens')
      t.equal((await ask(gateway, version, '[[finish:length]]')).json.stop_reason, 'max_tokens')
      const own = await ask(gateway, version, 'tell me more', { max_tokens: 3 })
      t.equal(own.json.stop_reason, 'max_tokens')
    }
  }
)

t.test('messages 60: a stream that breaks off ends with an error event and no message_stop (A14)', async t => {
  for (const version of versions) {
    for (const directive of ['[[die]]', '[[noeof]]', '[[badframe]]', '[[errframe]]']) {
      const prompt = `${directive}[[chunks:one|two|three]]`
      const { response, events } = await stream(gateway, version, prompt)
      t.equal(response.status, 200)
      t.match(events.at(-1), {
        type: 'error',
        error: { type: 'api_error', message: String },
        request_id: response.headers.get('request-id')
      })
      t.notOk(
        events.some(event => event.type === 'message_stop' || event.type === 'message_delta'),
        directive
      )
      t.notMatch(response.text, /127\.0\.0\.1|api\/v[12]/)
      const error = await catchError(() => client(version).messages.stream(question(prompt)).finalMessage())
      t.ok(error instanceof Anthropic.APIError, directive)
    }
    const limited = await stream(gateway, version, '[[errframe:429 message=slow down]][[chunks:one|two]]')
    t.match(limited.events.at(-1), { type: 'error', error: { type: 'rate_limit_error' } })
  }
})

t.test('messages 61: a filtered response is a refusal', async t => {
  const refusal = {
    stop_reason: 'refusal',
    stop_details: { type: 'refusal', category: null, explanation: null }
  }
  for (const version of versions) {
    for (const word of [
      'blacklist',
      'content_filter',
      'request_blacklist',
      'response_blacklist',
      'request_whitelist',
      'request_filter'
    ]) {
      const prompt = `[[finish:${word}]][[text:No.]]`
      t.match((await ask(gateway, version, prompt)).json, refusal, word)
      t.match(messageDelta((await stream(gateway, version, prompt)).events).delta, refusal, word)
    }
    for (const word of ['error', 'function_call_error']) {
      const failed = await ask(gateway, version, `[[finish:${word}]]`)
      t.equal(failed.status, 500, word)
      t.match(failed.json.error, { type: 'api_error' })
      const { events } = await stream(gateway, version, `[[finish:${word}]][[text:No.]]`)
      t.match(events.at(-1), { type: 'error', error: { type: 'api_error' } }, word)
    }
  }
})

t.test('messages 63: cached input tokens are reported beside the other input tokens (D3, decisions.md 84)', async t => {
  for (const version of versions) {
    const usage = { input_tokens: 14, output_tokens: 8, cache_read_input_tokens: 5 }
    t.match((await ask(gateway, version, '[[usage:19,8,5]]')).json.usage, usage)
    t.match(messageDelta((await stream(gateway, version, '[[usage:19,8,5]]')).events).usage, usage)
    const none = await ask(gateway, version, '[[nousage]]')
    t.match(none.json.usage, { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 })
  }
})

t.test('messages 75: a client disconnect during a stream aborts the upstream call', async t => {
  for (const version of versions) {
    const before = emulator.stats.aborted
    const controller = new AbortController()
    const response = await fetch(`${gateway.url}/${version}/messages`, {
      method: 'POST',
      signal: controller.signal,
      body: JSON.stringify({ ...question('[[tick:20]][[len:5000]]'), stream: true })
    })
    await response.body?.getReader().read()
    controller.abort()
    await emulator.waitFor(() => emulator.stats.aborted > before)
    t.equal((await ask(gateway, version, 'still there?')).status, 200)
  }
})

t.test(
  'arguments that are no object stand in an input as their text (decisions.md 113), streamed as in a whole response',
  async t => {
    for (const version of versions) {
      for (const sent of ['"Oslo"', '" "', '["Oslo"]', '3']) {
        const request = { ...question(`[[text:Hm]][[tool:get_weather ${sent}]]`), tools } as const
        const whole = await client(version).messages.create(request as Anthropic.MessageCreateParamsNonStreaming)
        const streamed = await client(version)
          .messages.stream(request as Anthropic.MessageStreamParams)
          .finalMessage()
        for (const { content, stop_reason: reason } of [whole, streamed]) {
          const [, call] = content
          const text = sent === '" "' ? {} : { arguments: sent.startsWith('"') ? JSON.parse(sent) : sent }
          t.strictSame(
            call?.type === 'tool_use' && [call.name, call.input],
            ['get_weather', text],
            `${version}, ${sent}`
          )
          t.equal(reason, 'tool_use')
        }
      }
    }
  }
)
