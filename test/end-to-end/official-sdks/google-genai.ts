// The official `@google/genai` package, as an application uses it.

import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai'
import t from 'tap'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import type { Place } from './place.ts'

/** Registers the cases of this SDK at a place. */
export function testGoogleGenai(place: Place): void {
  const { name, url, version, model, emulator } = place
  // The SDK appends its own version of the API, /v1, to its base URL.
  const client = new GoogleGenAI({ apiKey: 'unused', httpOptions: { baseUrl: `${url}/${version}` } })

  t.test(`${name}: generateContent returns a text`, async t => {
    const response = await client.models.generateContent({ model, contents: '[[text:Hello]][[usage:10,5,4]]' })
    t.equal(response.text, 'Hello')
    t.equal(response.modelVersion, model)
    t.equal(response.candidates?.[0]?.finishReason, 'STOP')
    t.match(response.usageMetadata, { promptTokenCount: 10, candidatesTokenCount: 5, cachedContentTokenCount: 4 })
    t.equal(lastUpstreamChat(emulator).path, place.chatPath)
  })

  t.test(`${name}: a stream has the same text, finish reason and usage as a whole response`, async t => {
    for (const prompt of ['[[text:Hello there]]', '[[chunks:Hel|lo]]', '[[finish:length]]', '[[finish:blacklist]]']) {
      const whole = await client.models.generateContent({ model, contents: prompt })
      let text = ''
      let last: typeof whole | undefined
      for await (const chunk of await client.models.generateContentStream({ model, contents: prompt })) {
        text += chunk.text ?? ''
        last = chunk
      }
      t.equal(text, whole.text ?? '', prompt)
      t.equal(last?.candidates?.[0]?.finishReason, whole.candidates?.[0]?.finishReason)
      t.strictSame(last?.usageMetadata, whole.usageMetadata)
    }
  })

  t.test(`${name}: a chat session keeps a complete history`, async t => {
    const chat = client.chats.create({ model })
    t.equal((await chat.sendMessage({ message: '[[text:one]]' })).text, 'one')
    let text = ''
    for await (const chunk of await chat.sendMessageStream({ message: '[[text:two]]' })) text += chunk.text ?? ''
    t.equal(text, 'two')
    t.equal((await chat.sendMessage({ message: '[[text:three]]' })).text, 'three')
    const said = chat.getHistory().map(({ role, parts }) => [role, parts?.map(part => part.text ?? '').join('')])
    t.strictSame(
      said.filter(([role, words]) => role === 'model' && words !== ''),
      [
        ['model', 'one'],
        ['model', 'two'],
        ['model', 'three']
      ]
    )
  })

  t.test(`${name}: automatic function calling runs tools until the model returns a text`, async t => {
    const seen: unknown[] = []
    const weather = {
      tool: async () => ({
        functionDeclarations: [
          { name: 'weather', parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } } }
        ]
      }),
      callTool: async (calls: Array<{ id?: string; name?: string; args?: unknown }>) => {
        seen.push(...calls.map(({ args }) => args))
        return calls.map(({ id, name }) => ({
          functionResponse: { ...(id === undefined ? {} : { id }), name: name ?? '', response: { temperature: 21 } }
        }))
      }
    }
    const response = await client.models.generateContent({
      model,
      contents: '[[tool:weather {"city":"Oslo"}]]',
      config: { tools: [weather] }
    })
    t.strictSame(seen, [{ city: 'Oslo' }])
    t.match(response.text, /21/)
  })

  t.test(`${name}: a forced function is called, whole and streamed`, async t => {
    const config = {
      tools: [
        {
          functionDeclarations: [
            { name: 'f', parameters: { type: Type.OBJECT, properties: { a: { type: Type.INTEGER, nullable: true } } } }
          ]
        }
      ],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['f'] } }
    }
    const whole = await client.models.generateContent({ model, contents: 'go', config })
    t.equal(whole.functionCalls?.[0]?.name, 'f')
    const names: unknown[] = []
    for await (const chunk of await client.models.generateContentStream({ model, contents: 'go', config })) {
      names.push(...(chunk.functionCalls ?? []).map(({ name }) => name))
    }
    t.strictSame(names, ['f'])
    const { body } = lastUpstreamChat(emulator)
    const [sent] = listSentFunctions(body)
    const a = place.passes === 'content' ? { type: 'INTEGER', nullable: true } : { type: ['integer', 'null'] }
    t.match(sent?.parameters, { properties: { a } })
  })

  t.test(`${name}: structured output follows the schema`, async t => {
    const response = await client.models.generateContent({
      model,
      contents: 'hi',
      config: {
        responseMimeType: 'application/json',
        responseSchema: { type: Type.OBJECT, properties: { ok: { type: Type.BOOLEAN } }, required: ['ok'] }
      }
    })
    t.type(JSON.parse(response.text ?? '').ok, 'boolean')
  })

  t.test(`${name}: tokens, embeddings and the model pager`, async t => {
    t.ok(((await client.models.countTokens({ model, contents: 'hello world' })).totalTokens ?? 0) > 0)
    const { embeddings } = place
    const embed = () => client.models.embedContent({ model: embeddings?.model ?? model, contents: ['a', 'b'] })
    if (embeddings === undefined) t.match(await catchError(embed), { status: 400 })
    else {
      const lengths = (await embed()).embeddings?.map(({ values }) => values?.length)
      t.strictSame(lengths, [embeddings.length, embeddings.length])
    }
    const names: string[] = []
    for await (const one of await client.models.list({ config: { pageSize: 4 } })) names.push(one.name ?? '')
    t.equal(new Set(names).size, names.length)
    t.ok(names.includes(`models/${model}`))
    for await (const tuned of await client.models.list({ config: { queryBase: false } })) t.fail(tuned.name ?? '')
    t.equal((await client.models.get({ model })).name, `models/${model}`)
  })

  t.test(`${name}: failures are ApiErrors with their status, whole, before a stream and within it`, async t => {
    for (const status of [400, 401, 403, 404, 422, 429, 500, 503]) {
      for (const call of [
        () => client.models.generateContent({ model, contents: `[[error:${status}]]` }),
        () => client.models.generateContentStream({ model, contents: `[[error:${status}]]` })
      ]) {
        const error = await catchError(call)
        t.ok(error instanceof ApiError, String(status))
        t.match(error, { status: place.statusOf(status) })
      }
    }
    for (const directive of ['[[badframe]]', '[[noeof]]', '[[die]]', '[[errframe]]']) {
      let text = ''
      const error = await catchError(async () => {
        const stream = await client.models.generateContentStream({ model, contents: `${directive}[[chunks:a|b|c]]` })
        for await (const chunk of stream) text += chunk.text ?? ''
      })
      t.ok(error instanceof ApiError, directive)
      t.match(text, /^a/, directive)
    }
  })

  t.test(`${name}: aborting a stream aborts the upstream call`, async t => {
    const before = emulator.stats.aborted
    const controller = new AbortController()
    const stream = await client.models.generateContentStream({
      model,
      contents: '[[tick:20]][[len:5000]]',
      config: { abortSignal: controller.signal }
    })
    const error = await catchError(async () => {
      for await (const chunk of stream) if (chunk.text) controller.abort()
    })
    t.ok(error)
    await emulator.waitFor(() => emulator.stats.aborted > before, 10_000)
  })
}
