// The official SDK reads the codec's responses, and the codec reads the SDK's requests.

import { ApiError, type CallableTool, type FunctionCall, FunctionCallingConfigMode, type Part } from '@google/genai'
import t from 'tap'
import {
  type EventAssembler,
  GatewayError,
  type NormalizedEvent,
  writeToolCallId
} from '../../../../../worker/normalized/index.ts'
import { createExchange } from './sdk.ts'
import { eventsOf, requestId } from './support.ts'

const hello = [eventsOf(assembler => assembler.text('Hello'))]

/** A response in which every event is one upstream read. */
const piecewise = (build: (assembler: EventAssembler) => void) => eventsOf(build).map(event => [event])

function failing(error: GatewayError, ...texts: string[]): NormalizedEvent[][] {
  return piecewise(assembler => {
    for (const text of texts) assembler.text(text)
    assembler.fail(error)
  })
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = []
  for await (const item of items) collected.push(item)
  return collected
}

async function thrownBy(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run()
  } catch (thrown) {
    return thrown
  }
  return undefined
}

t.test('the SDK reads a whole response', async t => {
  const { sdk, requests } = createExchange([hello])
  const response = await sdk.models.generateContent({
    model: 'google/gemini-x',
    contents: 'hi',
    config: { systemInstruction: 'be brief', temperature: 0.2, stopSequences: ['x'], safetySettings: [] }
  })
  t.equal(response.text, 'Hello')
  t.equal(response.modelVersion, 'google/gemini-x')
  t.equal(response.responseId, requestId)
  t.match(requests[0], {
    model: 'google/gemini-x',
    sampling: { temperature: 0.2, stop: ['x'] },
    messages: [{ role: 'system', content: [{ text: 'be brief' }] }, { role: 'user' }]
  })
})

t.test('the SDK reads no text from a response that is a call (A7)', async t => {
  const { sdk } = createExchange([[eventsOf(assembler => assembler.toolCall({ id: '1', name: 'f' }, '{"a":1}'))]])
  const response = await sdk.models.generateContent({ model: 'm', contents: 'hi' })
  t.equal(response.text, undefined)
  t.strictSame(response.functionCalls, [{ id: '1', name: 'f', args: { a: 1 } }])
})

t.test('the SDK reads the text without thoughts', async t => {
  const { sdk, requests } = createExchange([
    [
      eventsOf(assembler => {
        assembler.reasoning('Hm.')
        assembler.text('Yes.')
      })
    ]
  ])
  const response = await sdk.models.generateContent({
    model: 'm',
    contents: 'hi',
    config: { thinkingConfig: { includeThoughts: true, thinkingBudget: 4000 } }
  })
  t.equal(response.text, 'Yes.')
  t.equal(response.candidates?.[0]?.content?.parts?.length, 2)
  t.strictSame(requests[0]?.reasoning, { isVisible: true, budgetTokens: 4000, effort: 'medium' })
})

t.test('content 56: the SDK reads two chunks of text, and a last one with reason, usage and content', async t => {
  const usage = {
    inputTokens: 3,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: 2,
    reasoningTokens: null,
    totalTokens: 5
  }
  const { sdk } = createExchange([
    piecewise(assembler => {
      assembler.text('Hel')
      assembler.text('lo')
      assembler.finish({ reason: 'stop', providerReason: 'stop', metadata: {} }, usage)
    })
  ])
  const chunks = await collect(await sdk.models.generateContentStream({ model: 'm', contents: 'hi' }))
  t.strictSame(
    chunks.map(chunk => chunk.text),
    ['Hel', 'lo', '']
  )
  t.strictSame(
    chunks.map(chunk => chunk.candidates?.[0]?.finishReason),
    [undefined, undefined, 'STOP']
  )
  t.ok(chunks.every(chunk => chunk.responseId === requestId))
  t.equal(chunks.at(-1)?.usageMetadata?.totalTokenCount, 5)
})

t.test("content 58: the SDK's chat keeps a streamed turn, and the codec reads it as one turn", async t => {
  const { sdk, requests } = createExchange([
    piecewise(assembler => {
      assembler.text('Hel')
      assembler.text('lo')
    }),
    hello
  ])
  const chat = sdk.chats.create({ model: 'm' })
  await collect(await chat.sendMessageStream({ message: 'hi' }))
  const texts = chat.getHistory(true).flatMap(content => content.parts?.map(part => part.text) ?? [])
  t.strictSame(texts, ['hi', 'Hel', 'lo', ''])
  await chat.sendMessage({ message: 'more' })
  t.strictSame(requests[1]?.messages, [
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
    { role: 'user', content: [{ type: 'text', text: 'more' }] }
  ])
})

t.test('content 62: the SDK throws a failure inside the stream with its status (A14)', async t => {
  const { sdk } = createExchange([failing(new GatewayError('provider_failure'), 'Hel')])
  const texts: Array<string | undefined> = []
  const thrown = await thrownBy(async () => {
    for await (const chunk of await sdk.models.generateContentStream({ model: 'm', contents: 'hi' })) {
      texts.push(chunk.text)
    }
  })
  t.strictSame(texts, ['Hel'])
  t.ok(thrown instanceof ApiError)
  t.match(thrown, { status: 502, message: /UNAVAILABLE/ })
})

t.test('the SDK throws a failure before any chunk', async t => {
  const { sdk } = createExchange([failing(new GatewayError('rate_limited', { retryAfter: '7' }))])
  const thrown = await thrownBy(async () =>
    collect(await sdk.models.generateContentStream({ model: 'm', contents: 'hi' }))
  )
  t.match(thrown, { name: 'ApiError', status: 429, message: /RetryInfo/ })
})

t.test('the SDK throws a refused request with the path of the field', async t => {
  const { sdk } = createExchange([hello])
  const thrown = await thrownBy(() =>
    sdk.models.generateContent({ model: 'm', contents: 'hi', config: { responseMimeType: 'text/xml' } })
  )
  t.match(thrown, { name: 'ApiError', status: 400, message: /generationConfig\.responseMimeType/ })
})

t.test('the SDK reads a filtered response without content as a refused prompt', async t => {
  const { sdk } = createExchange([
    [
      eventsOf(assembler =>
        assembler.finish(
          { reason: 'content-filter', providerReason: 'listed', filter: 'blocklist', metadata: {} },
          null
        )
      )
    ]
  ])
  const response = await sdk.models.generateContent({ model: 'm', contents: 'hi' })
  t.equal(response.promptFeedback?.blockReason, 'BLOCKLIST')
  t.equal(response.candidates?.[0]?.finishReason, 'BLOCKLIST')
})

/** A tool that the SDK runs itself. */
function callableTool(calls: FunctionCall[][]): CallableTool {
  return {
    tool: async () => ({ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }),
    callTool: async made => {
      calls.push(made)
      return made.map((call): Part => {
        return {
          functionResponse: {
            name: call.name ?? '',
            response: { seen: call.args?.n },
            ...(call.id ? { id: call.id } : {})
          }
        }
      })
    }
  }
}

const callId = (callNumber: number) => writeToolCallId({ stateId: 'ts-1', name: 'f', callNumber, nonce: 'n' })

for (const isStream of [false, true]) {
  t.test(
    `calls that the SDK runs itself are sent back with their state, ${isStream ? 'streamed' : 'whole'} (C3)`,
    async t => {
      const calls: FunctionCall[][] = []
      const { sdk, requests } = createExchange([
        piecewise(assembler => {
          assembler.text('Look.')
          assembler.toolCall({ id: callId(0), name: 'f' }, '{"n":1}')
          assembler.toolCall({ id: callId(1), name: 'f' }, '{"n":2}')
        }),
        hello
      ])
      const parameters = { model: 'm', contents: 'hi', config: { tools: [callableTool(calls)] } }
      if (isStream) await collect(await sdk.models.generateContentStream(parameters))
      else t.equal((await sdk.models.generateContent(parameters)).text, 'Hello')
      t.strictSame(
        calls.flat().map(call => call.args),
        [{ n: 1 }, { n: 2 }]
      )
      const [, model, results] = requests[1]?.messages ?? []
      t.strictSame(
        model?.content.map(part => (part.type === 'tool-call' ? part.id : part.type)),
        ['text', callId(0), callId(1)]
      )
      t.strictSame(
        results?.content.map(part => part.type === 'tool-result' && [part.callId, part.content]),
        [
          [callId(0), [{ type: 'text', text: '{"seen":1}' }]],
          [callId(1), [{ type: 'text', text: '{"seen":2}' }]]
        ]
      )
    }
  )
}

t.test("the SDK's modes and names are read", async t => {
  const { sdk, requests } = createExchange([hello])
  await sdk.models.generateContent({
    model: 'm',
    contents: 'hi',
    config: {
      tools: [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }, { googleSearch: {} }],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['g'] } }
    }
  })
  t.strictSame(requests[0]?.toolChoice, { type: 'allowed', mode: 'required', names: ['g'] })
  t.equal(requests[0]?.tools.length, 3)
})
