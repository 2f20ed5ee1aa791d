// The Responses operation of the official `openai` package, as an application uses it.

import OpenAI from 'openai'
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import t from 'tap'
import { z } from 'zod'
import { readToolCallId } from '../../../worker/normalized/index.ts'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import type { Place } from './place.ts'

/** Narrows an item, because a filter by `type` does not narrow the helper's item type. */
function isFunctionCall(item: { type: string }): item is OpenAI.Responses.ResponseFunctionToolCall {
  return item.type === 'function_call'
}

/** Registers the cases of this operation at a place. */
export function testResponses(place: Place): void {
  const { name, url, version, model, emulator } = place
  const weather = {
    type: 'function' as const,
    name: 'weather',
    description: 'Current weather',
    strict: true,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false
    }
  }
  const client = new OpenAI({ baseURL: `${url}/${version}`, apiKey: 'unused', maxRetries: 0 })
  const isOwnWire = place.passes === 'responses'

  t.test(`${name}: create returns text and usage`, async t => {
    const response = await client.responses.create({ model, input: '[[text:Hello]]', instructions: 'Be brief.' })
    t.equal(response.output_text, 'Hello')
    t.match(response, { object: 'response', status: 'completed', model, instructions: 'Be brief.', error: null })
    t.match(response.id, /^resp_/)
    t.match(response.usage, {
      input_tokens: Number,
      output_tokens: Number,
      output_tokens_details: { reasoning_tokens: 0 }
    })
    t.equal(lastUpstreamChat(emulator).path, place.chatPath)
  })

  t.test(`${name}: the stream helper accumulates to the same response as a whole one (F1, F2, F3)`, async t => {
    for (const input of [
      '[[chunks:Hel|lo]]',
      '[[reason:because]][[text:so]]',
      '[[finish:length]]',
      '[[finish:blacklist]]'
    ]) {
      const whole = await client.responses.create({ model, input })
      const stream = client.responses.stream({ model, input })
      const sequence: number[] = []
      stream.on('event', event => sequence.push(event.sequence_number))
      const final = await stream.finalResponse()
      t.equal(final.output_text, whole.output_text, input)
      t.equal(final.status, whole.status)
      t.strictSame(final.incomplete_details, whole.incomplete_details)
      t.strictSame(
        final.output.map(({ type }) => type),
        whole.output.map(({ type }) => type)
      )
      t.strictSame(final.usage, whole.usage)
      t.strictSame(sequence, [...sequence.keys()], 'numbers grow by one from 0')
    }
  })

  t.test(`${name}: parse returns a value of the schema, whole and streamed`, async t => {
    const Answer = z.object({ name: z.string(), tags: z.array(z.string()) })
    const text = { format: zodTextFormat(Answer, 'answer') }
    const parsed = await client.responses.parse({ model, input: 'hi', text })
    t.ok(Answer.safeParse(parsed.output_parsed).success)
    const streamed = await client.responses.stream({ model, input: 'hi', text }).finalResponse()
    t.ok(Answer.safeParse(streamed.output_parsed).success)
  })

  t.test(`${name}: the arguments of the SDK's own functions are parsed`, async t => {
    const input = '[[tool:weather {"city":"Oslo"}]]'
    // Strict, as the SDK makes them (decisions.md 77).
    const tools = [zodResponsesFunction({ name: 'weather', parameters: z.object({ city: z.string() }) })]
    const parsed = await client.responses.parse({ model, input, tools })
    const streamed = await client.responses.stream({ model, input, tools }).finalResponse()
    for (const { output } of [parsed, streamed]) {
      t.match((output as Array<{ type: string }>).find(isFunctionCall), { parsed_arguments: { city: 'Oslo' } })
    }
  })

  t.test(`${name}: a message that was cut off goes back as input without its status`, async t => {
    // The service takes no smaller limit on its own wire.
    const limit = isOwnWire ? 16 : 3
    const text = 'Count to a hundred.'
    const cut = await client.responses.create({ model, input: text, max_output_tokens: limit })
    t.equal(cut.status, 'incomplete')
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: text }]
    for (const item of cut.output) {
      if (item.type !== 'message') continue
      const { status: _, ...message } = item
      input.push(message as OpenAI.Responses.ResponseInputItem)
    }
    t.equal(input.length, 2)
    input.push({ role: 'user', content: 'Go on.' })
    t.equal((await client.responses.create({ model, input })).status, 'completed')
  })

  t.test(`${name}: a function loop of three turns keeps the upstream's tool state (C3)`, async t => {
    for (const isStream of [false, true]) {
      const ask = async (input: OpenAI.Responses.ResponseInput) => {
        const request = { model, input, tools: [weather] }
        return isStream ? client.responses.stream(request).finalResponse() : client.responses.create(request)
      }
      const input: OpenAI.Responses.ResponseInput = [
        {
          role: 'user',
          content: '[[tool:weather {"city":"Oslo"}]][[step]][[tool:weather {"city":"Rome"}]][[step]][[text:done]]'
        }
      ]
      const states: unknown[] = []
      for (const city of ['Oslo', 'Rome']) {
        const { output } = await ask(input)
        const call = (output as Array<{ type: string }>).find(isFunctionCall)
        t.strictSame(JSON.parse(call?.arguments ?? '{}'), { city })
        // The helper of strict functions adds a member that the service itself refuses in an input.
        const items = output as unknown as Array<OpenAI.Responses.ResponseInputItem & { parsed_arguments?: unknown }>
        input.push(
          ...items.map(({ parsed_arguments: _parsed, ...item }) => item as OpenAI.Responses.ResponseInputItem),
          {
            type: 'function_call_output',
            call_id: call?.call_id ?? '',
            output: '{"temperature":21}'
          }
        )
        states.push(readToolCallId(call?.call_id ?? '').stateId)
      }
      t.equal((await ask(input)).output_text, 'done')
      const sent = lastUpstreamChat(emulator).body.messages
      if (version === 'v1' || !place.isNative) continue
      t.strictSame(
        sent
          .filter((message: { role: string }) => message.role === 'tool')
          .map((message: { tools_state_id: string }) => message.tools_state_id),
        states
      )
    }
  })

  t.test(`${name}: every error status is the SDK's error class, whole and streamed`, async t => {
    const classes = [
      [400, OpenAI.BadRequestError],
      [401, OpenAI.AuthenticationError],
      [403, OpenAI.PermissionDeniedError],
      [404, OpenAI.NotFoundError],
      [422, OpenAI.UnprocessableEntityError],
      [429, OpenAI.RateLimitError],
      [500, OpenAI.InternalServerError],
      [502, OpenAI.InternalServerError],
      [503, OpenAI.InternalServerError]
    ] as const
    for (const [status] of classes) {
      const expected = place.statusOf(status)
      const Class = classes.find(([one]) => one === expected)?.[1] ?? OpenAI.APIError
      for (const stream of [false, true]) {
        const error = await catchError(() => client.responses.create({ model, stream, input: `[[error:${status}]]` }))
        t.ok(error instanceof Class, `${status} ${stream ? 'streamed' : 'whole'}`)
      }
    }
    t.match(await catchError(() => client.responses.create({ model, input: 5 as unknown as string })), {
      status: 400,
      // On its own wire a wrong shape is the provider's to refuse (decisions.md 72).
      code: isOwnWire ? 'invalid_type' : 'invalid_request',
      param: 'input'
    })
    t.match(await catchError(() => client.responses.retrieve('resp_x')), { status: 404, code: 'unknown_url' })
  })

  t.test(`${name}: a failure within a stream is a failed response (A14)`, async t => {
    for (const directive of ['[[badframe]]', '[[noeof]]', '[[die]]', '[[errframe]]']) {
      const events: string[] = []
      const stream = await client.responses.create({ model, stream: true, input: `${directive}[[chunks:a|b|c]]` })
      let failed: OpenAI.Responses.Response | undefined
      // The connection closes behind the event (decisions.md 108).
      const thrown = await catchError(async () => {
        for await (const event of stream) {
          events.push(event.type)
          if (event.type === 'response.failed') failed = event.response
        }
      })
      t.ok(thrown instanceof Error, directive)
      t.equal(events.at(-1), 'response.failed', directive)
      t.match(failed, { status: 'failed', error: { code: 'server_error', message: String } })
    }
  })

  t.test(`decisions.md 51: ${name}: at no moment is a failed stream a success for the SDK`, async t => {
    const ask = (input: string) => ({ model, input, tools: [weather] })
    for (const [moment, input] of [
      ['before the first byte', '[[error:500]]'],
      ['before the first byte', '[[die:0]]'],
      ['after text', '[[chunks:a|b|c]][[die]]'],
      ['after text', '[[chunks:a|b|c]][[errframe]]'],
      [
        'within a call',
        `${version === 'v1' ? '[[argfrag:4]]' : '[[callsplit]]'}[[die]][[tool:weather {"city":"Omsk"}]]`
      ]
    ] as const) {
      if (moment === 'within a call' && place.hasWholeCalls === true) continue
      const types: string[] = []
      const failure = await catchError(async () => {
        for await (const event of await client.responses.create({ ...ask(input), stream: true })) types.push(event.type)
      })
      t.ok(failure, `${moment}: iterating raises`)
      if (moment !== 'before the first byte') t.equal(types.at(-1), 'response.failed', moment)
      t.strictSame(
        types.filter(type => type.endsWith('.done')),
        []
      )
      t.equal(types.length === 0, moment === 'before the first byte')

      const accumulated = await client.responses
        .stream(ask(input))
        .finalResponse()
        .catch(error => ({ status: 'raised', error, output: [] }))
      t.equal(accumulated.status, 'raised', moment)
      t.ok(accumulated.error)
      t.strictSame(accumulated.output, [])
    }
  })

  t.test(`${name}: aborting a stream aborts the upstream call`, async t => {
    const before = emulator.stats.aborted
    const stream = await client.responses.create({ model, stream: true, input: '[[tick:20]][[len:5000]]' })
    for await (const event of stream) if (event.type === 'response.output_text.delta') break
    await emulator.waitFor(() => emulator.stats.aborted > before, 10_000)
    t.pass('the upstream saw the abort')
  })
}
