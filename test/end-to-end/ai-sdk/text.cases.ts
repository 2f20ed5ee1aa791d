// The Vercel AI SDK with a started gateway: texts, streams, reasoning, attachments and embeddings, over all four operations.

import { embedMany, generateText, streamText } from 'ai'
import t from 'tap'
import { lastUpstreamChat } from '../../support/client.ts'
import { readTurns } from '../../support/turns.ts'
import { createPicture, listUploads } from '../../support/upstream.ts'
import { calm, createProviders, startSharedStack, upstreamModel, versions } from './support.ts'

const { emulator, gateway, seats, strangers } = await startSharedStack()

for (const { name, version, model } of seats) {
  t.test(`${name}: a text has its usage, finish reason and model`, async t => {
    const result = await generateText({
      ...calm,
      model,
      instructions: 'Be brief.',
      prompt: '[[text:Hello]][[usage:10,5,0]]'
    })
    t.equal(result.text, 'Hello')
    t.equal(result.finishReason, 'stop')
    t.match(result.usage, { inputTokens: 10, outputTokens: 5, totalTokens: 15 })
    t.equal(result.finalStep.response.modelId, upstreamModel)
    const { path, body } = lastUpstreamChat(emulator)
    t.equal(path, `/api/${version}/chat/completions`)
    t.strictSame(readTurns(body), [
      { role: 'system', text: 'Be brief.' },
      { role: 'user', text: '[[text:Hello]][[usage:10,5,0]]' }
    ])
    t.equal((body.model_options ?? body).max_tokens, 256)
  })

  t.test(`${name}: the accumulated stream equals the whole response`, async t => {
    for (const prompt of ['[[chunks:Hel|lo]]', '[[finish:length]]', '[[finish:blacklist]]', '[[usage:10,5,0]]']) {
      const whole = await generateText({ ...calm, model, prompt })
      const streamed = streamText({ ...calm, model, prompt })
      t.equal(await streamed.text, whole.text, prompt)
      t.equal(await streamed.finishReason, whole.finishReason, prompt)
      const { inputTokens, outputTokens, totalTokens } = whole.usage
      t.match(await streamed.usage, { inputTokens, outputTokens, totalTokens }, prompt)
      const { body } = lastUpstreamChat(emulator)
      t.equal(body.stream, true)
      t.notOk('stream_options' in body, 'options for the gateway are not sent upstream')
    }
  })

  t.test(`${name}: the parts of a stream open and close in order`, async t => {
    const parts: string[] = []
    for await (const part of streamText({ ...calm, model, prompt: '[[chunks:Hel|lo]]' }).stream) {
      // The messages provider reports the start of a message as a separate part.
      if (part.type !== 'custom') parts.push(part.type === 'text-delta' ? part.text : part.type)
    }
    t.strictSame(parts, ['start', 'start-step', 'text-start', 'Hel', 'lo', 'text-end', 'finish-step', 'finish'])
  })

  t.test(`${name}: finish reasons are mapped to those of the SDK`, async t => {
    for (const [word, reason] of [
      ['stop', 'stop'],
      ['length', 'length'],
      ['blacklist', 'content-filter']
    ] as const) {
      const result = await generateText({ ...calm, model, prompt: `[[text:so]][[finish:${word}]]` })
      t.equal(result.finishReason, reason, word)
    }
  })

  t.test(`${name}: the sampling parameters of the provider are sent upstream`, async t => {
    await generateText({ ...calm, model, prompt: 'hi', temperature: 0.5, topP: 0.9 })
    const { body } = lastUpstreamChat(emulator)
    t.match(body.model_options ?? body, { temperature: 0.5, top_p: 0.9 })
  })

  t.test(`${name}: a conversation is sent with all its turns`, async t => {
    await generateText({
      ...calm,
      model,
      messages: [
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '[[text:' },
            { type: 'text', text: 'four]]' }
          ]
        }
      ]
    })
    const [first, second, third, ...more] = readTurns(lastUpstreamChat(emulator).body)
    t.strictSame([first, second, more], [{ role: 'user', text: 'one' }, { role: 'assistant', text: 'two' }, []])
    t.match(third, { role: 'user', text: /^\[\[text:\s?four\]\]$/ })
  })

  t.test(`${name}: a picture is uploaded and attached`, async t => {
    const before = listUploads(emulator).length
    const result = await generateText({
      ...calm,
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '[[text:seen]]' },
            { type: 'file', data: createPicture(), mediaType: 'image/png' }
          ]
        }
      ]
    })
    t.equal(result.text, 'seen')
    t.equal(listUploads(emulator).length, before + 1)
    t.strictSame(readTurns(lastUpstreamChat(emulator).body), [{ role: 'user', text: '[[text:seen]]', files: 1 }])
  })
}

for (const { name, kind, model } of seats) {
  // The chat provider of this SDK has no field for reasoning.
  if (kind === 'chat') continue
  const providerOptions = {
    openai: { store: false },
    google: { thinkingConfig: { includeThoughts: true } }
  }

  t.test(`${name}: reasoning comes before the text, whole and streamed`, async t => {
    const request = { ...calm, model, prompt: '[[reason:because]][[text:so]]', providerOptions }
    const whole = await generateText(request)
    t.equal(whole.finalStep.reasoningText, 'because')
    t.equal(whole.text, 'so')
    const types: string[] = []
    const streamed = streamText(request)
    for await (const part of streamed.stream) if (/^(reasoning|text)-/.test(part.type)) types.push(part.type)
    t.strictSame(
      types.filter(type => !type.endsWith('-delta')),
      ['reasoning-start', 'reasoning-end', 'text-start', 'text-end']
    )
    t.equal((await streamed.finalStep).reasoningText, 'because')
    t.equal(await streamed.text, 'so')
  })
}

for (const { name, kind, model } of seats) {
  // The messages family counts cached tokens among its input tokens; the provider of this SDK adds them once more.
  if (kind === 'messages') continue

  t.test(`${name}: cached tokens are counted as input tokens`, async t => {
    const prompt = '[[text:Hello]][[usage:10,5,4]]'
    const streamed = streamText({ ...calm, model, prompt })
    for (const usage of [(await generateText({ ...calm, model, prompt })).usage, await streamed.usage]) {
      t.match(usage, { inputTokens: 10, outputTokens: 5, totalTokens: 15 })
      t.match(usage.inputTokenDetails, { noCacheTokens: 6, cacheReadTokens: 4 })
    }
  })
}

for (const version of versions) {
  t.test(`${version}: embeddings of many values keep their order`, async t => {
    const { openai, google } = createProviders(gateway.url, version)
    const values = ['one', 'two', 'three']
    const [first, second] = await Promise.all(
      [openai.embedding('Embeddings'), google.embedding('Embeddings')].map(model => embedMany({ model, values }))
    )
    t.strictSame(
      first?.embeddings.map(({ length }) => length),
      [1024, 1024, 1024]
    )
    t.strictSame(second?.embeddings, first?.embeddings)
    t.ok((first?.usage.tokens ?? 0) > 0)
  })
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
