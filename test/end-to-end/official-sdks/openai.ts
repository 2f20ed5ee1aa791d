// The official `openai` package with chat completions, embeddings and models, as an application uses it.

import OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import t from 'tap'
import { z } from 'zod'
import { catchError } from '../../support/errors.ts'
import type { Place } from './place.ts'

/** Registers the cases of this SDK at a place. */
export function testOpenAi(place: Place): void {
  const { name, url, version, model, emulator } = place
  const client = new OpenAI({ baseURL: `${url}/${version}`, apiKey: 'unused', maxRetries: 0 })
  const user = (content: string) => [{ role: 'user' as const, content }]

  t.test(`${name}: a chat returns a text and exposes the request id`, async t => {
    const completion = await client.chat.completions.create({ model, messages: user('[[text:Hello]]') })
    t.equal(completion.choices[0]?.message.content, 'Hello')
    t.equal(completion.model, model)
    t.match(completion._request_id, /^[0-9a-f-]{36}$/)
    if (place.isNative) t.equal(completion._request_id, completion.id.replace('chatcmpl-', ''))
  })

  t.test(`${name}: a stream can be iterated, and the helper accumulates it`, async t => {
    let text = ''
    const stream = await client.chat.completions.create({ model, stream: true, messages: user('[[chunks:Hel|lo]]') })
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    t.equal(text, 'Hello')
    const helper = client.chat.completions.stream({
      model,
      messages: user('[[chunks:Hel|lo]]'),
      stream_options: { include_usage: true }
    })
    const final = await helper.finalChatCompletion()
    t.equal(final.choices[0]?.message.content, 'Hello')
    t.ok((await helper.totalUsage()).total_tokens > 0)
  })

  t.test(`${name}: runTools runs tools until the model returns a text`, async t => {
    for (const stream of [false, true]) {
      const seen: unknown[] = []
      const tools = [
        zodFunction({
          name: 'weather',
          parameters: z.object({ city: z.string() }),
          function: (args: { city: string }) => {
            seen.push(args)
            return { temperature: 21 }
          }
        })
      ]
      const messages = user('[[tool:weather {"city":"Oslo"}]]')
      const runner = stream
        ? client.chat.completions.runTools({ model, stream: true, messages, tools })
        : client.chat.completions.runTools({ model, messages, tools })
      const response = await runner.finalContent()
      t.strictSame(seen, [{ city: 'Oslo' }])
      t.match(response, /21/)
    }
  })

  t.test(`${name}: a structured response is parsed with a zod schema`, async t => {
    const Answer = z.object({
      name: z.string(),
      tags: z.array(z.string()),
      kind: z.enum(['a', 'b']),
      note: z.string().nullable()
    })
    const response_format = zodResponseFormat(Answer, 'answer')
    const parsed = await client.chat.completions.parse({ model, messages: user('hi'), response_format })
    t.ok(Answer.safeParse(parsed.choices[0]?.message.parsed).success)
    const streamed = await client.chat.completions
      .stream({ model, messages: user('hi'), response_format })
      .finalChatCompletion()
    t.ok(Answer.safeParse(streamed.choices[0]?.message.parsed).success)
  })

  t.test(`${name}: embeddings are the same by default (base64) and as floats`, async t => {
    const { embeddings } = place
    const request = { model: embeddings?.model ?? model, input: ['a', 'b'] }
    if (embeddings === undefined) {
      const error = await catchError(() => client.embeddings.create(request))
      t.match(error, { status: 400, code: 'unsupported_semantic', param: 'model' })
      return
    }
    const byDefault = await client.embeddings.create(request)
    const floats = await client.embeddings.create({ ...request, encoding_format: 'float' })
    t.equal(byDefault.data.length, 2)
    t.equal(byDefault.data[0]?.embedding.length, embeddings.length)
    t.strictSame(byDefault.data[1]?.embedding, floats.data[1]?.embedding.map(Math.fround))
  })

  t.test(`${name}: models list and retrieve`, async t => {
    const ids: string[] = []
    for await (const one of client.models.list()) ids.push(one.id)
    t.ok(ids.includes(model))
    t.equal((await client.models.retrieve(model)).id, model)
    t.ok((await catchError(() => client.models.retrieve('nope'))) instanceof OpenAI.NotFoundError)
  })

  t.test(`${name}: every error status is the SDK's error class, whole and streamed`, async t => {
    const classes = [
      [400, OpenAI.BadRequestError],
      [401, OpenAI.AuthenticationError],
      [403, OpenAI.PermissionDeniedError],
      [404, OpenAI.NotFoundError],
      [409, OpenAI.ConflictError],
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
        const error = await catchError(() =>
          client.chat.completions.create({ model, stream, messages: user(`[[error:${status}]]`) })
        )
        t.ok(error instanceof Class, `${status} ${stream ? 'streamed' : 'whole'}`)
        t.ok(error instanceof OpenAI.APIError && error.type !== undefined && error.requestID, 'readable by the SDK')
      }
    }
    const error = await catchError(() =>
      client.chat.completions.create({ model, messages: user('x'), temperature: 'hot' as unknown as number })
    )
    // On its own wire a wrong shape is the provider's to refuse (decisions.md 72).
    const isOwnWire = place.passes === 'completions'
    const refusal = isOwnWire ? { message: /'temperature'/ } : { code: 'invalid_request', param: 'temperature' }
    t.match(error, { ...refusal, status: 400, type: 'invalid_request_error' })
  })

  t.test(`${name}: an error within a stream is thrown`, async t => {
    const stream = await client.chat.completions.create({
      model,
      stream: true,
      messages: user('[[badframe]][[chunks:a|b|c]]')
    })
    let text = ''
    const error = await catchError(async () => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    })
    t.ok(error instanceof OpenAI.APIError)
    t.match(error, { code: 'provider_protocol_error' })
    t.equal(text, 'a', 'the text before the error is delivered')
  })

  t.test(`${name}: the SDK retries retryable statuses and no others`, async t => {
    const retrying = new OpenAI({ baseURL: `${url}/${version}`, apiKey: 'unused', maxRetries: 2 })
    const completion = await retrying.chat.completions.create({ model, messages: user('[[flaky:1:503]][[text:ok]]') })
    t.equal(completion.choices[0]?.message.content, 'ok')
  })

  t.test(`${name}: aborting a stream aborts the upstream call`, async t => {
    const before = emulator.stats.aborted
    const stream = await client.chat.completions.create({
      model,
      stream: true,
      messages: user('[[tick:20]][[len:5000]]')
    })
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break
    await emulator.waitFor(() => emulator.stats.aborted > before, 10_000)
    t.pass('the upstream saw the abort')
  })
}
