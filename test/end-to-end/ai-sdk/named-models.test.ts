// The Vercel AI SDK with model names of its catalog, so that its providers use the features that they reserve for those models. The
// gateway serves one upstream model under every name.

import { generateText, isStepCount, type LanguageModel, Output, streamText, type ToolSet, tool } from 'ai'
import t from 'tap'
import { z } from 'zod'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { readTurns } from '../../support/turns.ts'
import { calm, createProviders, createWeather, outline, startStack, upstreamModel, versions } from './support.ts'

const { emulator, gateway, strangers } = await startStack(t, {
  GATEWAY_PASS_MODEL: 'False',
  UPSTREAM_MODEL: upstreamModel
})

const thoughtful = '[[reason:because]][[text:a]][[tool:weather {"city":"Oslo"}]][[step]][[reason:more]][[text:done]]'

/** The turns of a conversation in which the model returned reasoning, text and calls: reasoning is not sent back (C1). */
const thoughtfulTurns = (result: unknown) => [
  { role: 'user', text: thoughtful },
  { role: 'assistant', text: 'a', calls: [['weather', { city: 'Oslo' }]] },
  { role: 'tool', results: [['weather', result]] }
]
const report = { city: 'Oslo', temperature: 21 }

/** The effort that the upstream received. */
function readEffort(): unknown {
  const { body } = lastUpstreamChat(emulator)
  return body.model_options?.reasoning?.effort ?? body.reasoning_effort
}

for (const version of versions) {
  const { openai, anthropic, google } = createProviders(gateway.url, version)

  t.test(
    `${version}: a reasoning model with chat sends developer messages, max_completion_tokens and effort`,
    async t => {
      const result = await generateText({
        ...calm,
        model: openai.chat('gpt-5'),
        reasoning: 'high',
        instructions: 'Be brief.',
        prompt: '[[text:Hello]]'
      })
      t.equal(result.finalStep.response.modelId, 'gpt-5')
      const { body } = lastUpstreamChat(emulator)
      t.equal(body.model, upstreamModel)
      t.strictSame(readTurns(body)[0], { role: 'system', text: 'Be brief.' })
      t.equal((body.model_options ?? body).max_tokens, 256)
      t.equal(readEffort(), 'high')
    }
  )

  t.test(`${version}: a reasoning model with Responses keeps reasoning through a tool loop`, async t => {
    for (const isStream of [false, true]) {
      const { weather } = createWeather()
      const request = {
        ...calm,
        model: openai.responses('gpt-5'),
        reasoning: 'high' as const,
        prompt: thoughtful,
        tools: { weather },
        stopWhen: isStepCount(3)
      }
      const steps = isStream ? await streamText(request).steps : (await generateText(request)).steps
      t.strictSame(
        steps.map(({ reasoningText }) => reasoningText),
        ['because', 'more']
      )
      t.equal(readEffort(), 'high')
      t.strictSame(readTurns(lastUpstreamChat(emulator).body), thoughtfulTurns(report))
    }
  })

  t.test(
    `decisions.md 53: ${version}: a reference to an item that the SDK assumes to be stored is an error`,
    async t => {
      // Without `store: false` the SDK replaces the texts of the model by references to items. The gateway stores none, so skipping
      // them would lose those texts.
      const { weather } = createWeather()
      const request = {
        maxRetries: 0,
        model: openai.responses(upstreamModel),
        prompt: '[[text:a]][[tool:weather {"city":"Oslo"}]][[step]][[text:done]]',
        tools: { weather },
        stopWhen: isStepCount(3)
      }
      const error = await catchError(() => generateText(request))
      t.match(error, {
        statusCode: 400,
        message: /^Item with id 'msg_.+' not found\. Items are not stored; send `store: false`/,
        data: { error: { code: 'invalid_request', param: 'input[1].id' } }
      })
      const { steps } = await generateText({ ...request, ...calm })
      t.strictSame(
        outline(steps).map(({ text }) => text),
        ['a', 'done']
      )
      t.strictSame(readTurns(lastUpstreamChat(emulator).body).slice(1), [
        { role: 'assistant', text: 'a', calls: [['weather', { city: 'Oslo' }]] },
        { role: 'tool', results: [['weather', report]] }
      ])
    }
  )

  t.test(`${version}: a thinking budget becomes an effort, and thoughts are not sent back (C1)`, async t => {
    for (const isStream of [false, true]) {
      const { weather } = createWeather()
      const request = {
        ...calm,
        model: anthropic('claude-sonnet-4-5'),
        reasoning: 'high' as const,
        prompt: thoughtful,
        tools: { weather },
        stopWhen: isStepCount(3)
      }
      const steps = isStream ? await streamText(request).steps : (await generateText(request)).steps
      t.strictSame(
        steps.map(({ reasoningText }) => reasoningText),
        ['because', 'more']
      )
      t.equal(readEffort(), 'high')
      const { body, headers } = lastUpstreamChat(emulator)
      t.strictSame(readTurns(body), thoughtfulTurns(report))
      t.strictSame(
        Object.keys(headers).filter(header => header.startsWith('anthropic')),
        []
      )
    }
  })

  t.test(`${version}: adaptive thinking sends the effort of the application`, async t => {
    const model = anthropic('claude-opus-4-6')
    await generateText({ ...calm, model, reasoning: 'medium', prompt: 'hi' })
    t.equal(readEffort(), 'medium')
    await generateText({ ...calm, model, prompt: 'hi' })
    t.equal(readEffort(), undefined)
  })

  t.test(`${version}: a known model of the messages family returns objects through an output format`, async t => {
    const { weather, cities } = createWeather()
    const schema = z.object({ name: z.string(), note: z.string().nullable() })
    const result = await generateText({
      ...calm,
      model: anthropic('claude-opus-4-6'),
      prompt: '[[tool:weather {"city":"Oslo"}]]',
      tools: { weather },
      output: Output.object({ schema }),
      stopWhen: isStepCount(3)
    })
    t.strictSame(cities, ['Oslo'])
    t.ok(schema.safeParse(result.output).success)
    const { body } = lastUpstreamChat(emulator)
    t.equal((body.model_options ?? body).response_format.type, 'json_schema')
  })

  t.test(`${version}: a thinking level and a thinking budget become an effort`, async t => {
    const { weather } = createWeather()
    const { steps } = await generateText({
      ...calm,
      model: google('gemini-3-pro-preview'),
      reasoning: 'high',
      prompt: thoughtful,
      tools: { weather },
      stopWhen: isStepCount(3)
    })
    t.equal(steps.at(-1)?.text, 'done')
    t.equal(readEffort(), 'high')
    t.strictSame(readTurns(lastUpstreamChat(emulator).body), thoughtfulTurns({ name: 'weather', content: report }))
    const providerOptions = { google: { thinkingConfig: { thinkingBudget: 4000 } } }
    await generateText({ ...calm, model: google('gemini-2.5-pro'), prompt: 'hi', providerOptions })
    t.equal(readEffort(), 'medium')
  })

  t.test(`${version}: a picture inside a function response is attached`, async t => {
    const picture = Buffer.from(`picture of ${version}`).toString('base64')
    const shot = tool({
      inputSchema: z.object({}),
      execute: async () => picture,
      toModelOutput: ({ output }) => ({
        type: 'content',
        value: [
          { type: 'text', text: 'see' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: output } }
        ]
      })
    })
    await generateText({
      ...calm,
      model: google('gemini-3-pro-preview'),
      prompt: '[[tool:shot {}]]',
      tools: { shot },
      stopWhen: isStepCount(3)
    })
    t.strictSame(readTurns(lastUpstreamChat(emulator).body).slice(2), [
      { role: 'tool', results: [['shot', { name: 'shot', content: 'see' }]] },
      { role: 'user', files: 1 }
    ])
  })
}

const { openai, anthropic, google } = createProviders(gateway.url, 'v2')

t.test('v2: a conversation continues with the id of the response', async t => {
  const ask = (prompt: string, options: { store?: boolean; previousResponseId?: string }) =>
    generateText({
      maxRetries: 0,
      model: openai.responses(upstreamModel),
      prompt,
      providerOptions: { openai: options }
    })
  const first = await ask('[[text:one]] my word is plum', { store: true })
  const previousResponseId = first.finalStep.providerMetadata?.openai?.responseId as string
  const second = await ask('[[recall]]', { previousResponseId })
  t.match(second.text, /plum/)
  t.equal(lastUpstreamChat(emulator).body.storage.thread_id, previousResponseId.replace('resp_', ''))
})

t.test('v1: a conversation with the id of a response is refused, and the SDK reports the error', async t => {
  const model = createProviders(gateway.url, 'v1').openai.responses(upstreamModel)
  const providerOptions = { openai: { previousResponseId: 'resp_x' } }
  const error = await catchError(() => generateText({ ...calm, model, prompt: 'hi', providerOptions }))
  t.match(error, { statusCode: 400, data: { error: { param: 'previous_response_id', code: 'unsupported_semantic' } } })
})

t.test('v2: a web search of the upstream returns sources, whole and streamed', async t => {
  const searches: Array<{ model: LanguageModel; tools: ToolSet }> = [
    { model: openai.responses('gpt-4o'), tools: { web_search: openai.tools.webSearch({}) } },
    { model: google('gemini-2.5-pro'), tools: { google_search: google.tools.googleSearch({}) } }
  ]
  for (const search of searches) {
    const request = { ...calm, ...search, prompt: '[[builtin:web_search]]' }
    const whole = await generateText(request)
    const streamed = streamText(request)
    for (const [text, sources] of [
      [whole.text, whole.sources],
      [await streamed.text, await streamed.sources]
    ] as const) {
      t.match(text, /Sources:/)
      t.strictSame(
        sources.map(source => (source.sourceType === 'url' ? source.url : '')),
        ['https://example.test/first', 'https://example.test/second']
      )
    }
    t.match(lastUpstreamChat(emulator).body.tools, [{ web_search: {} }])
  }
})

t.test('v2: a web search with messages lists its sources in the text', async t => {
  const web_search = anthropic.tools.webSearch_20250305({ maxUses: 2 })
  const request = {
    ...calm,
    model: anthropic('claude-sonnet-4-5'),
    prompt: '[[builtin:web_search]]',
    tools: { web_search }
  }
  for (const text of [(await generateText(request)).text, await streamText(request).text]) {
    t.match(text, /Sources:\n- \[The first page\]\(https:\/\/example\.test\/first\)/)
  }
})

t.test('v2: a generated image is the result of a tool that the provider ran, whole and streamed', async t => {
  const request = {
    ...calm,
    model: openai.responses('gpt-4o'),
    prompt: '[[builtin:image_generate]]',
    tools: { image_generation: openai.tools.imageGeneration({}) }
  }
  const whole = await generateText(request)
  for (const content of [whole.content, await streamText(request).content]) {
    const result = content.find(part => part.type === 'tool-result')
    t.match(result, {
      toolName: 'image_generation',
      providerExecuted: true,
      output: { result: /^[A-Za-z0-9+/]+=*$/ }
    })
  }
})

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
