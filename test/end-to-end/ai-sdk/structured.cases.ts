// The Vercel AI SDK with a started gateway: structured output over all four operations.

import { generateText, isStepCount, Output, streamText } from 'ai'
import t from 'tap'
import { z } from 'zod'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { calm, createWeather, startSharedStack } from './support.ts'

const { emulator, seats, strangers } = await startSharedStack()

const recipe = z.object({
  name: z.string().describe('What it is called'),
  tags: z.array(z.string()),
  kind: z.enum(['soup', 'cake']),
  note: z.string().nullable(),
  source: z.string().optional()
})

/**
 * Makes the provider of the messages family request an output format, as the others do. By default it does so only for models that it
 * knows; for other models it forces a function, which the v1 contract cannot combine with the functions of the application.
 */
const native = { ...calm.providerOptions, anthropic: { structuredOutputMode: 'outputFormat' } }

interface ObjectSchema {
  properties?: Record<string, unknown>
  required?: string[]
}

/** The schema that the upstream received: the response format, or the parameters of the function that replaces it. */
function readSchema(): ObjectSchema {
  const { body } = lastUpstreamChat(emulator)
  const stand = listSentFunctions(body).find(({ name }) => name === 'json')
  return readFormat()?.schema ?? (stand?.parameters as ObjectSchema)
}

function readFormat(): { schema: ObjectSchema; strict?: boolean } | undefined {
  const { body } = lastUpstreamChat(emulator)
  return (body.model_options ?? body).response_format
}

for (const { name, kind, model } of seats) {
  t.test(`${name}: an object follows its schema, whole and streamed`, async t => {
    const request = { ...calm, model, prompt: 'hi', output: Output.object({ schema: recipe }) }
    t.ok(recipe.safeParse((await generateText(request)).output).success)
    const streamed = streamText(request)
    let partials = 0
    for await (const partial of streamed.partialOutputStream) partials += typeof partial === 'object' ? 1 : 0
    t.ok(recipe.safeParse(await streamed.output).success)
    t.ok(partials > 0)
    t.equal(await streamed.finishReason, 'stop')
  })

  t.test(`${name}: an output format of the request is sent as the response format of the upstream`, async t => {
    const output = Output.object({ schema: recipe })
    const result = await generateText({ ...calm, model, providerOptions: native, prompt: 'hi', output })
    t.ok(recipe.safeParse(result.output).success)
    t.equal(typeof readFormat()?.schema, 'object')
    t.strictSame(listSentFunctions(lastUpstreamChat(emulator).body), [])
  })

  t.test(`${name}: the schema of an object reaches the upstream as the application wrote it`, async t => {
    await generateText({ ...calm, model, prompt: 'hi', output: Output.object({ schema: recipe }) })
    const { properties, required } = readSchema()
    t.strictSame(properties, {
      name: { type: 'string', description: 'What it is called' },
      tags: { type: 'array', items: { type: 'string' } },
      kind: { type: 'string', enum: ['soup', 'cake'] },
      note: { type: ['string', 'null'] },
      source: { type: 'string' }
    })
    t.strictSame(required, ['name', 'tags', 'kind', 'note'])
    const strict = readFormat()?.strict
    t.equal(strict, kind === 'chat' || kind === 'responses' ? true : undefined)
  })

  t.test(`${name}: arrays and enum choices are returned as values`, async t => {
    const element = z.object({ name: z.string() })
    const list = await generateText({ ...calm, model, prompt: 'hi', output: Output.array({ element }) })
    t.strictSame(list.output, [{ name: 'example' }])
    const elements: unknown[] = []
    const streamed = streamText({ ...calm, model, prompt: 'hi', output: Output.array({ element }) })
    for await (const one of streamed.elementStream) elements.push(one)
    t.strictSame(elements, [{ name: 'example' }])
    const options = ['sunny', 'rainy'] as const
    const choice = await generateText({
      ...calm,
      model,
      prompt: 'hi',
      output: Output.choice({ options: [...options] })
    })
    t.equal(choice.output, 'sunny')
  })

  t.test(`${name}: a loop of tools ends in an object`, async t => {
    const { weather, cities } = createWeather()
    const result = await generateText({
      ...calm,
      model,
      providerOptions: native,
      prompt: '[[tool:weather {"city":"Oslo"}]]',
      tools: { weather },
      output: Output.object({ schema: recipe }),
      stopWhen: isStepCount(3)
    })
    t.strictSame(cities, ['Oslo'])
    t.ok(recipe.safeParse(result.output).success)
  })

  t.test(`${name}: a response that is not JSON is an error of the SDK, with the text`, async t => {
    const output = Output.object({ schema: recipe })
    const request = { ...calm, model, providerOptions: native, prompt: '[[text:no json]]', output }
    const error = await catchError(async () => (await generateText(request)).output)
    t.match(error, { name: 'AI_NoObjectGeneratedError', text: 'no json' })
  })
}

for (const { name, kind, model } of seats) {
  // The provider of the messages family has no such mode and does not send it.
  if (kind === 'messages') continue
  const field = {
    chat: 'response_format.type',
    responses: 'text.format.type',
    content: 'generationConfig.responseMimeType'
  }[kind]

  t.test(`${name}: JSON without a schema is refused with its field`, async t => {
    const prompt = '[[text:{"a":1}]]'
    const error = await catchError(() => generateText({ ...calm, model, prompt, output: Output.json() }))
    t.match(error, { name: 'AI_APICallError', statusCode: 400, isRetryable: false })
    t.ok((error as { responseBody: string }).responseBody.includes(field))
  })
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
