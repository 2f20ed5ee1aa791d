// The official `openai` package with a started gateway, as an application uses it.

import OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import t from 'tap'
import { z } from 'zod'
import { lastUpstreamChat } from '../support/client.ts'
import { catchError } from '../support/errors.ts'
import { emulatorVariables, startEmulator, startGateway } from '../support/gateway.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: '2', UPSTREAM_TIMEOUT: '5' }
})

for (const version of ['v1', 'v2'] as const) {
  const client = new OpenAI({ baseURL: `${gateway.url}/${version}`, apiKey: 'unused', maxRetries: 0 })
  const model = 'GigaChat-2-Max'
  const user = (content: string) => [{ role: 'user' as const, content }]

  t.test(`${version}: a chat returns a text and exposes the request id`, async t => {
    const completion = await client.chat.completions.create({ model, messages: user('[[text:Hello]]') })
    t.equal(completion.choices[0]?.message.content, 'Hello')
    t.equal(completion.model, model)
    t.equal(completion._request_id, completion.id.replace('chatcmpl-', ''))
  })

  t.test(`${version}: a stream can be iterated, and the helper accumulates it`, async t => {
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

  t.test(`${version}: runTools runs tools until the model returns a text`, async t => {
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

  t.test(`${version}: a structured response is parsed with a zod schema`, async t => {
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

  t.test(`${version}: embeddings are the same by default (base64) and as floats`, async t => {
    const byDefault = await client.embeddings.create({ model: 'Embeddings', input: ['a', 'b'] })
    const floats = await client.embeddings.create({ model: 'Embeddings', input: ['a', 'b'], encoding_format: 'float' })
    t.equal(byDefault.data.length, 2)
    t.equal(byDefault.data[0]?.embedding.length, 1024)
    t.strictSame(byDefault.data[1]?.embedding, floats.data[1]?.embedding.map(Math.fround))
  })

  t.test(`${version}: models list and retrieve`, async t => {
    const ids: string[] = []
    for await (const one of client.models.list()) ids.push(one.id)
    t.ok(ids.includes('GigaChat-2-Max'))
    t.equal((await client.models.retrieve('GigaChat-2-Max')).id, 'GigaChat-2-Max')
    t.ok((await catchError(() => client.models.retrieve('nope'))) instanceof OpenAI.NotFoundError)
  })

  t.test(`${version}: every error status is the SDK's error class, whole and streamed`, async t => {
    const classes = [
      [400, OpenAI.BadRequestError],
      [401, OpenAI.AuthenticationError],
      [403, OpenAI.PermissionDeniedError],
      [404, OpenAI.NotFoundError],
      [409, OpenAI.ConflictError],
      [422, OpenAI.UnprocessableEntityError],
      [429, OpenAI.RateLimitError],
      [500, OpenAI.InternalServerError],
      [503, OpenAI.InternalServerError]
    ] as const
    for (const [status, Class] of classes) {
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
    t.match(error, { code: 'invalid_request', param: 'temperature', type: 'invalid_request_error' })
  })

  t.test(`${version}: an error within a stream is thrown`, async t => {
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

  t.test(`${version}: the SDK retries retryable statuses and no others`, async t => {
    const retrying = new OpenAI({ baseURL: `${gateway.url}/${version}`, apiKey: 'unused', maxRetries: 2 })
    const completion = await retrying.chat.completions.create({ model, messages: user('[[flaky:1:503]][[text:ok]]') })
    t.equal(completion.choices[0]?.message.content, 'ok')
  })

  t.test(`${version}: aborting a stream aborts the upstream call`, async t => {
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

t.test('extra_body expanded by the SDK reaches the upstream', async t => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused' })
  const body = { model: 'GigaChat-2', messages: [{ role: 'user' as const, content: 'hi' }], repetition_penalty: 1.1 }
  await client.chat.completions.create(body)
  t.equal(lastUpstreamChat(emulator).body.repetition_penalty, 1.1)
})
