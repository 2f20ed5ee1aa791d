// The official `@anthropic-ai/sdk` package, as an application uses it.

import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import t from 'tap'
import { z } from 'zod'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import type { Place } from './place.ts'

/** Registers the cases of this SDK at a place. */
export function testAnthropic(place: Place): void {
  const { name, url, version, model, emulator } = place
  // The SDK appends /v1/messages to its base URL; after /v2 the first version decides.
  const baseURL = version === 'v1' ? url : `${url}/v2`
  const client = new Anthropic({ baseURL, apiKey: 'unused', maxRetries: 0 })
  const ask = (content: string) => ({ model, max_tokens: 256, messages: [{ role: 'user' as const, content }] })

  t.test(`${name}: create returns every member of the type`, async t => {
    const message = await client.messages.create(ask('[[text:Hello]]'))
    t.match(message.content, [{ type: 'text', text: 'Hello' }])
    t.match(message, { type: 'message', role: 'assistant', model, stop_reason: 'end_turn', stop_sequence: null })
    t.match(message.usage, { input_tokens: Number, output_tokens: Number })
    t.match(message._request_id, /^[0-9a-f-]{36}$/)
    if (place.isNative) t.equal(message._request_id, message.id.replace('msg_', ''))
    t.equal(lastUpstreamChat(emulator).path, place.chatPath)
  })

  t.test(`${name}: a stream accumulates to the same message as a whole response`, async t => {
    for (const prompt of ['[[text:Hello]]', '[[reason:because]][[text:so]]', '[[finish:length]]', '[[usage:10,5,4]]']) {
      const whole = await client.messages.create(ask(prompt))
      const events: string[] = []
      const stream = client.messages.stream(ask(prompt)).on('streamEvent', event => events.push(event.type))
      const final = await stream.finalMessage()
      const texts = (message: Anthropic.Message) =>
        message.content.map(block =>
          block.type === 'text' ? block.text : block.type === 'thinking' ? block.thinking : ''
        )
      t.strictSame(texts(final), texts(whole), prompt)
      t.equal(final.stop_reason, whole.stop_reason)
      t.equal(final.usage.output_tokens, whole.usage.output_tokens)
      t.equal(events[0], 'message_start')
      t.equal(events.at(-1), 'message_stop')
    }
  })

  t.test(`${name}: text and a call stream into separate blocks (A3, A6)`, async t => {
    const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }]
    const request = { ...ask('[[text:let me]][[tool:weather {"city":"Oslo"}]]'), tools }
    for (const message of [
      await client.messages.create(request),
      await client.messages.stream(request).finalMessage()
    ]) {
      t.match(message.content, [
        { type: 'text', text: 'let me' },
        ...(place.signsCalls === true ? [{ type: 'thinking', thinking: '', signature: /./ }] : []),
        { type: 'tool_use', name: 'weather', input: { city: 'Oslo' } }
      ])
      t.equal(message.stop_reason, 'tool_use')
    }
  })

  t.test(`${name}: the tool runner runs tools until the model returns a text`, async t => {
    for (const stream of [false, true]) {
      const seen: unknown[] = []
      const weather = betaZodTool({
        name: 'weather',
        description: 'Current weather',
        inputSchema: z.object({ city: z.string() }),
        run: input => {
          seen.push(input)
          return '{"temperature":21}'
        }
      })
      const runner = client.beta.messages.toolRunner({
        ...ask('[[tool:weather {"city":"Oslo"}]]'),
        tools: [weather],
        stream
      })
      const final = await runner.runUntilDone()
      t.strictSame(seen, [{ city: 'Oslo' }])
      t.match(JSON.stringify(final.content), /21/)
    }
  })

  t.test(`${name}: parse returns a value of the schema`, async t => {
    const Answer = z.object({ name: z.string(), tags: z.array(z.string()) })
    const message = await client.messages.parse({ ...ask('hi'), output_config: { format: zodOutputFormat(Answer) } })
    t.ok(Answer.safeParse(message.parsed_output).success)
  })

  t.test(`${name}: tokens are counted`, async t => {
    const { input_tokens: few } = await client.messages.countTokens({
      model,
      messages: [{ role: 'user', content: 'hi' }]
    })
    const { input_tokens: more } = await client.messages.countTokens({
      model,
      system: 'You are a terse assistant.',
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ name: 'f', description: 'A function', input_schema: { type: 'object' } }]
    })
    t.ok(few > 0 && more > few, `${few} < ${more}`)
  })

  t.test(`${name}: models are listed once over several pages and retrieved`, async t => {
    const ids: string[] = []
    for await (const one of client.models.list({ limit: 4 })) ids.push(one.id)
    t.equal(new Set(ids).size, ids.length)
    t.ok(ids.includes(model))
    t.equal((await client.models.retrieve(model)).type, 'model')
    t.ok((await catchError(() => client.models.retrieve('nope'))) instanceof Anthropic.NotFoundError)
  })

  t.test(`${name}: every error status is the SDK's error class, whole and streamed`, async t => {
    const classes = [
      [400, Anthropic.BadRequestError, 'invalid_request_error'],
      [401, Anthropic.AuthenticationError, 'authentication_error'],
      [403, Anthropic.PermissionDeniedError, 'permission_error'],
      [404, Anthropic.NotFoundError, 'not_found_error'],
      [422, Anthropic.UnprocessableEntityError, 'invalid_request_error'],
      [429, Anthropic.RateLimitError, 'rate_limit_error'],
      [500, Anthropic.InternalServerError, 'api_error'],
      [502, Anthropic.InternalServerError, 'api_error'],
      [503, Anthropic.InternalServerError, 'overloaded_error']
    ] as const
    for (const [status] of classes) {
      const expected = place.statusOf(status)
      const [, Class = Anthropic.APIError, type] = classes.find(([one]) => one === expected) ?? []
      for (const stream of [false, true]) {
        const error = await catchError(() => client.messages.create({ ...ask(`[[error:${status}]]`), stream }))
        t.ok(error instanceof Class, `${status} ${stream ? 'streamed' : 'whole'}`)
        t.match(error, { status: expected, requestID: String, error: { type: 'error', error: { type } } })
      }
    }
  })

  t.test(`${name}: a failure within a stream is thrown (A14)`, async t => {
    for (const directive of ['[[badframe]]', '[[noeof]]', '[[die]]', '[[errframe]]']) {
      const error = await catchError(() => client.messages.stream(ask(`${directive}[[chunks:a|b|c]]`)).finalMessage())
      t.ok(error instanceof Anthropic.APIError, directive)
    }
  })

  t.test(`${name}: aborting a stream aborts the upstream call`, async t => {
    const before = emulator.stats.aborted
    const stream = client.messages.stream(ask('[[tick:20]][[len:5000]]'))
    stream.on('text', () => stream.abort())
    t.ok((await catchError(() => stream.done())) instanceof Anthropic.APIUserAbortError)
    await emulator.waitFor(() => emulator.stats.aborted > before, 10_000)
  })
}
