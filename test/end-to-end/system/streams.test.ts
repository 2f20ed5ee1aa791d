// Properties of the streams of every family: head, end, errors, immediate delivery, and the abort
// at a disconnect of the client (field-lessons.md A and H).

import t from 'tap'
import { get } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { askIn, families, model, openStream, readEnd, readEvents, streamedTextIn, textIn, urlOf } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_STREAM_IDLE_TIMEOUT_SECONDS: '5' }
})
const asEvents = { stream: true, query: '?alt=sse' }
const prefixes = {
  completions: ['/v1', '/v2'],
  responses: ['/v1', '/v2'],
  messages: ['/v1', '/v2'],
  content: ['/v1beta', '/v2']
}

t.test('the head of a stream tells proxies not to buffer it (A20)', async t => {
  for (const family of families) {
    const { status, headers, text } = await askIn(gateway, family, 'hi', {
      ...asEvents,
      headers: { 'accept-encoding': 'gzip, br' }
    })
    t.equal(status, 200)
    t.match(headers.get('content-type'), /^text\/event-stream/, family)
    t.equal(headers.get('cache-control'), 'no-cache', family)
    t.equal(headers.get('x-accel-buffering'), 'no', family)
    t.notOk(headers.get('content-encoding'), family)
    t.notOk(headers.get('content-length'), family)
    t.match(headers.get('x-request-id'), /^[0-9a-f-]{36}$/, family)
    t.equal(readEnd(family, text), 'success', family)
  }
})

t.test('only the chat stream of the completions family has an end mark (A17)', async t => {
  for (const family of families) {
    const { text } = await askIn(gateway, family, 'hi', asEvents)
    t.equal(text.includes('[DONE]'), family === 'completions', family)
  }
  const array = await askIn(gateway, 'content', 'hi', { stream: true, query: '?alt=json' })
  t.notMatch(array.text, /DONE|data:/)
  t.ok(Array.isArray(array.json))
})

t.test(
  'chunk boundaries, event names and spacing of the upstream’s stream do not change the stream of any family (A12, A13)',
  async t => {
    const text = 'Привет, «мир» 🌍 — ok'
    const ways = [
      '[[split:1]]',
      '[[split:7]]',
      '[[crlf]]',
      '[[ping]]',
      '[[nospace]]',
      '[[noname]]',
      '[[extra]]',
      '[[norole]]'
    ]
    await Promise.all(
      families.flatMap(family =>
        prefixes[family].flatMap(prefix =>
          ways.map(async way => {
            const response = await askIn(gateway, family, `${way}[[text:${text}]]`, { ...asEvents, prefix })
            t.equal(streamedTextIn(family, response.text), text, `${family} ${prefix} ${way}`)
            t.equal(readEnd(family, response.text), 'success', `${family} ${prefix} ${way}`)
          })
        )
      )
    )
  }
)

t.test('a whole response and a stream have the same content in every family (B3)', async t => {
  for (const family of families) {
    for (const prefix of prefixes[family]) {
      const prompt = '[[chunks:one |two |three]]'
      const whole = await askIn(gateway, family, prompt, { prefix })
      const streamed = await askIn(gateway, family, prompt, { ...asEvents, prefix })
      t.equal(textIn(family, whole), 'one two three', `${family} ${prefix}`)
      t.equal(streamedTextIn(family, streamed.text), 'one two three', `${family} ${prefix}`)
    }
  }
})

t.test(
  'a broken stream ends with exactly one error in the family’s form, after the text that was sent (A5, A14)',
  async t => {
    await Promise.all(
      families.flatMap(family =>
        prefixes[family].flatMap(prefix =>
          ['[[die:2]]', '[[noeof]]', '[[badframe]]', '[[errframe]]', '[[errframe:429 message=Slow down]]'].map(
            async way => {
              const name = `${family} ${prefix} ${way}`
              const response = await askIn(gateway, family, `${way}[[chunks:said|and|more]]`, { ...asEvents, prefix })
              t.equal(response.status, 200, name)
              t.match(streamedTextIn(family, response.text), /^said/, name)
              t.equal(readEnd(family, response.text), 'error', name)
              t.notMatch(response.text, /127\.0\.0\.1|https?:|\.ts\b/, name)
            }
          )
        )
      )
    )
  }
)

t.test('an event is sent to the client even when no event follows it (A18)', async t => {
  const first: Record<string, RegExp> = {
    completions: /"content":"early"/,
    responses: /"delta":"early"/,
    messages: /"text":"early"/,
    content: /"text":"early"/
  }
  for (const family of families) {
    for (const prefix of prefixes[family]) {
      const controller = new AbortController()
      // The upstream sends one delta and then no further data.
      const response = await openStream(gateway, family, '[[hang:1]][[chunks:early|late]]', {
        prefix,
        query: '?alt=sse',
        signal: controller.signal
      })
      let text = ''
      const decoder = new TextDecoder()
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk, { stream: true })
        if (first[family]?.test(text)) break
      }
      t.match(text, first[family], `${family} ${prefix}`)
      controller.abort()
    }
  }
  const controller = new AbortController()
  emulator.respondNext({
    chunks: ['data: {"choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":"{\\"a\\":"}}}]}\n\n'],
    end: 'hang'
  })
  const response = await openStream(gateway, 'completions', 'call', {
    signal: controller.signal,
    more: { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }] }
  })
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8')
    if (text.includes('{\\"a\\":')) break
  }
  t.match(text, /\{\\"a\\":/, 'arguments in pieces are sent piece by piece')
  controller.abort()
})

t.test('a client disconnect aborts the upstream call, before, within and without a stream (H1, H2, H3)', async t => {
  for (const family of families) {
    for (const [prompt, isStream] of [
      ['[[tick:50]][[len:1000]]', true],
      ['[[hang]]', true],
      ['[[hang]]', false],
      ['[[slow:60000]]', false]
    ] as const) {
      await emulator.waitFor(({ stats }) => stats.activeChatRequests === 0)
      const before = emulator.stats.aborted
      const controller = new AbortController()
      const given = isStream
        ? openStream(gateway, family, prompt, { signal: controller.signal, query: '?alt=sse' })
        : fetch(urlOf(gateway, family), {
            method: 'POST',
            signal: controller.signal,
            body: JSON.stringify(
              family === 'content'
                ? { contents: [{ parts: [{ text: prompt }] }] }
                : { model, input: prompt, max_tokens: 9, messages: [{ role: 'user', content: prompt }] }
            )
          })
      if (prompt.startsWith('[[tick')) await (await given).body?.getReader().read()
      else await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
      controller.abort()
      await given.catch(() => undefined)
      await emulator.waitFor(({ stats }) => stats.aborted > before)
      t.pass(`${family} ${prompt} ${isStream}`)
    }
  }
  await emulator.waitFor(({ stats }) => stats.activeChatRequests === 0)
  t.equal((await get(`${gateway.url}/health`)).status, 200)
})

/** The sign of a silent stream, where it is no comment. */
const KEEP_ALIVES: Readonly<Record<string, RegExp>> = {
  messages: /early[\s\S]*event: ping\ndata: \{"type":"ping"\}\n\n$/,
  content: /early[\s\S]*\n\ndata: $/
}

t.test('a silent stream is kept alive with bytes that the SDKs ignore (A19)', async t => {
  const patient = await startGateway(t, { env: emulatorVariables(emulator) })
  await Promise.all(
    families.map(async family => {
      const controller = new AbortController()
      const response = await openStream(patient, family, '[[hang:1]][[chunks:early|late]]', {
        query: '?alt=sse',
        signal: controller.signal
      })
      const sign = KEEP_ALIVES[family] ?? /early[\s\S]*\n\n: [^\n]+\n\n$/
      let text = ''
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString('utf8')
        if (sign.test(text)) break
      }
      t.match(text, sign, family)
      t.equal(streamedTextIn(family, text), 'early', family)
      controller.abort()
    })
  )
})

t.test('a stream that falls silent ends at the idle timeout with an error of the family (H5)', async t => {
  await Promise.all(
    families.map(async family => {
      const response = await askIn(gateway, family, '[[hang:1]][[chunks:early|late]]', asEvents)
      t.equal(streamedTextIn(family, response.text), 'early', family)
      t.equal(readEnd(family, response.text), 'error', family)
    })
  )
})

t.test('an empty upstream stream is an HTTP error, and one without text is a response', async t => {
  for (const family of families) {
    emulator.respondNext({ chunks: [] })
    t.equal((await askIn(gateway, family, 'hi', asEvents)).status, 502, family)
    emulator.respondNext({
      chunks: ['data: {"choices":[{"delta":{"content":""},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n']
    })
    const empty = await askIn(gateway, family, 'hi', asEvents)
    t.equal(empty.status, 200, family)
    t.equal(readEnd(family, empty.text), 'success', family)
  }
})

t.test(
  'a turn with text and calls has contiguous blocks, each opened and closed once (A2, A3, A4, A6, A7)',
  async t => {
    const prompt = '[[reason:why]][[text:Let me see.]][[tool:a {"x":1}]][[tool:b {}]][[parallel]]'
    const schema = { type: 'object', properties: {} }
    const messages = await askIn(gateway, 'messages', prompt, {
      stream: true,
      prefix: '/v2',
      model: 'GigaChat-2-Max',
      more: {
        tools: ['a', 'b'].map(name => ({ name, input_schema: schema })),
        // Without the parallel option the family gets one call at a time.
        tool_choice: { type: 'auto', disable_parallel_tool_use: false }
      }
    })
    const events = readEvents(messages.text)
    t.equal(events.filter(({ name }) => name === 'message_start').length, 1)
    const blocks = events.filter(({ name }) => name === 'content_block_start')
    t.strictSame(
      blocks.map(({ data }) => [data.index, data.content_block.type]),
      [
        [0, 'thinking'],
        [1, 'text'],
        [2, 'tool_use'],
        [3, 'tool_use']
      ]
    )
    let open = -1
    for (const { name, data } of events) {
      if (name === 'content_block_start') open = data.index
      else if (name === 'content_block_delta') {
        t.equal(data.index, open)
        const kind = blocks[open]?.data.content_block.type
        const fitting = {
          thinking: /^(thinking|signature)_delta$/,
          text: /^text_delta$/,
          tool_use: /^input_json_delta$/
        }
        t.match(data.delta.type, fitting[kind as keyof typeof fitting])
      } else if (name === 'content_block_stop') {
        t.equal(data.index, open)
        open = -1
      }
    }
    t.equal(open, -1)
    t.equal(events.find(({ name }) => name === 'message_delta')?.data.delta.stop_reason, 'tool_use')

    const responses = await askIn(gateway, 'responses', prompt, {
      stream: true,
      prefix: '/v2',
      model: 'GigaChat-2-Max',
      more: { tools: ['a', 'b'].map(name => ({ type: 'function', name, parameters: schema })) }
    })
    const numbered = readEvents(responses.text)
    t.strictSame(
      numbered.map(({ data }) => data.sequence_number),
      numbered.map((_, index) => index)
    )
    const added = numbered.filter(({ name }) => name === 'response.output_item.added')
    const finished = numbered.filter(({ name }) => name === 'response.output_item.done')
    t.strictSame(
      added.map(({ data }) => data.output_index),
      [0, 1, 2, 3]
    )
    t.strictSame(
      finished.map(({ data }) => data.output_index),
      [0, 1, 2, 3]
    )

    const completions = await askIn(gateway, 'completions', prompt, {
      stream: true,
      prefix: '/v2',
      model: 'GigaChat-2-Max',
      more: { tools: ['a', 'b'].map(name => ({ type: 'function', function: { name, parameters: schema } })) }
    })
    const choices = readEvents(completions.text).flatMap(({ data }) => data.choices ?? [])
    t.ok(choices.every(({ index }: { index: number }) => index === 0))
    t.strictSame(
      choices.map(({ finish_reason }: { finish_reason: string | null }) => finish_reason).filter(word => word !== null),
      ['tool_calls']
    )
  }
)
