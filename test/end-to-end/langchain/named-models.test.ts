// LangChain with model names that its packages know, and with features that only one package has. The gateway serves one upstream model
// under every name.

import { ChatAnthropic } from '@langchain/anthropic'
import { HumanMessage, SystemMessage } from '@langchain/core/messages'
import { ChatGoogle } from '@langchain/google'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import t from 'tap'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { readTurns } from '../../support/turns.ts'
import { createPicture } from '../../support/upstream.ts'
import { addUp, createWeather, runLoop, startStack, type Version, versions } from './support.ts'

const upstreamModel = 'GigaChat-2-Max'
const { emulator, gateway, strangers } = await startStack(t, {
  GATEWAY_PASS_MODEL: 'False',
  UPSTREAM_MODEL: upstreamModel
})

const common = { apiKey: 'unused', maxRetries: 0 }
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

function createResponses(version: Version, options: object = {}): ChatOpenAI {
  const configuration = { baseURL: `${gateway.url}/${version}` }
  return new ChatOpenAI({ ...common, configuration, model: 'gpt-5', useResponsesApi: true, ...options })
}

for (const version of versions) {
  t.test(
    `${version}: a reasoning model with chat sends developer messages, max_completion_tokens and effort`,
    async t => {
      const configuration = { baseURL: `${gateway.url}/${version}` }
      const reasoning = { effort: 'high' as const }
      const model = new ChatOpenAI({ ...common, configuration, model: 'gpt-5', reasoning, maxTokens: 256 })
      const response = await model.invoke([new SystemMessage('Be brief.'), new HumanMessage('[[text:Hello]]')])
      t.equal(response.text, 'Hello')
      const { body } = lastUpstreamChat(emulator)
      t.equal(body.model, upstreamModel)
      t.strictSame(readTurns(body)[0], { role: 'system', text: 'Be brief.' })
      t.equal((body.model_options ?? body).max_tokens, 256)
      t.equal(readEffort(), 'high')
    }
  )

  t.test(`${version}: a loop with Responses sends its items back in full, stored or not (C3, F6)`, async t => {
    for (const zdrEnabled of [false, true]) {
      for (const isStream of [false, true]) {
        const { weather } = createWeather()
        const model = createResponses(version, { zdrEnabled, reasoning: { effort: 'high', summary: 'auto' } })
        const turns = await runLoop(model, thoughtful, { tools: [weather], isStream })
        t.strictSame(
          turns.map(({ text }) => text),
          ['a', 'done']
        )
        t.equal(readEffort(), 'high')
        t.strictSame(readTurns(lastUpstreamChat(emulator).body), thoughtfulTurns(report))
      }
    }
  })

  t.test(`${version}: a thinking budget becomes an effort, and thoughts are not sent back (C1)`, async t => {
    for (const isStream of [false, true]) {
      const { weather } = createWeather()
      const model = new ChatAnthropic({
        ...common,
        model: 'claude-sonnet-4-5',
        anthropicApiUrl: version === 'v1' ? gateway.url : `${gateway.url}/v2`,
        maxTokens: 8000,
        thinking: { type: 'enabled', budget_tokens: 4000 }
      })
      await runLoop(model, thoughtful, { tools: [weather], isStream })
      t.equal(readEffort(), 'medium')
      t.strictSame(readTurns(lastUpstreamChat(emulator).body), thoughtfulTurns(report))
    }
  })

  t.test(`${version}: a thinking level becomes an effort, and the thoughts are returned`, async t => {
    const model = new ChatGoogle({
      ...common,
      model: 'gemini-3-pro-preview',
      endpoint: `${gateway.url}/${version}`,
      platformType: 'gai',
      reasoningEffort: 'HIGH'
    })
    for (const isStream of [false, true]) {
      const { weather } = createWeather()
      await runLoop(model, thoughtful, { tools: [weather], isStream })
      t.equal(readEffort(), 'high')
      t.strictSame(readTurns(lastUpstreamChat(emulator).body), thoughtfulTurns({ result: JSON.stringify(report) }))
    }
    const prompt = '[[reason:because]][[text:so]]'
    for (const response of [await model.invoke(prompt), await addUp(await model.stream(prompt))]) {
      t.equal(response.text, 'so')
      t.match(JSON.stringify(response.contentBlocks), /because/)
    }
  })

  t.test(`${version}: the first package of the content family sends pictures for a model of its own list`, async t => {
    const baseUrl = `${gateway.url}/${version}`
    const model = new ChatGoogleGenerativeAI({ ...common, model: 'gemini-2.5-pro', baseUrl })
    const url = `data:image/png;base64,${createPicture()}`
    const question = new HumanMessage({
      content: [
        { type: 'text', text: '[[text:seen]]' },
        { type: 'image_url', image_url: { url } }
      ]
    })
    t.equal((await model.invoke([question])).text, 'seen')
    t.strictSame(readTurns(lastUpstreamChat(emulator).body), [{ role: 'user', text: '[[text:seen]]', files: 1 }])
  })
}

t.test('v2: a conversation continues with the id of the response', async t => {
  const model = createResponses('v2', { modelKwargs: { store: true } })
  const first = await model.invoke('[[text:one]] my word is plum')
  const previous_response_id = first.response_metadata.id as string
  for (const response of [
    await model.invoke('[[recall]]', { previous_response_id }),
    await addUp(await model.stream('[[recall]]', { previous_response_id }))
  ]) {
    t.match(response.text, /plum/)
    t.equal(lastUpstreamChat(emulator).body.storage.thread_id, previous_response_id.replace('resp_', ''))
  }
})

t.test('v1: a stored conversation is refused with its field', async t => {
  const model = createResponses('v1', { modelKwargs: { store: true } })
  t.match(await catchError(() => model.invoke('hi')), { status: 400, param: 'store', code: 'unsupported_semantic' })
})

t.test('v2: a web search of the upstream is a tool output next to the text, whole and streamed', async t => {
  const model = createResponses('v2').bindTools([{ type: 'web_search' }])
  const prompt = '[[builtin:web_search]]'
  for (const response of [await model.invoke(prompt), await addUp(await model.stream(prompt))]) {
    t.match(response.text, /Sources:/)
    t.match(response.response_metadata.output, [{ type: 'web_search_call', status: 'completed' }, { type: 'message' }])
  }
  t.match(lastUpstreamChat(emulator).body.tools, [{ web_search: {} }])
})

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
