// `@anthropic-ai/sdk` 0.69 and 1, and LangChain 0.3, which is built on 0.65.

import Anthropic1 from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-sdk-0'
import { type Adapter, answerSchema, type Origin, runLoop, weather } from '../adapter.ts'
import { ChatAnthropic0, langchainMessages0 } from '../older/index.ts'

const generations = [
  ['0.69', Anthropic0 as unknown as typeof Anthropic1],
  ['1', Anthropic1]
] as const

/** The SDK appends /v1/messages; after /v2 the first version decides. */
const readBase = ({ url, version }: Origin) => (version === 'v1' ? url : `${url}/v2`)

export function createAnthropicAdapters(origin: Origin): Adapter[] {
  const { model } = origin
  return generations.map(([generation, Class]) => {
    const client = new Class({ baseURL: readBase(origin), apiKey: 'unused', maxRetries: 0 })
    const tools = [{ name: weather.name, description: weather.description, input_schema: weather.schema }]
    const common = { model, max_tokens: 256 }
    const user = (content: string) => [{ role: 'user' as const, content }]
    const readText = (content: readonly Anthropic1.ContentBlock[]) =>
      content.map(block => (block.type === 'text' ? block.text : '')).join('')
    return {
      name: `@anthropic-ai/sdk ${generation}`,
      async ask(prompt) {
        return readText((await client.messages.create({ ...common, messages: user(prompt) })).content)
      },
      async *stream(prompt) {
        for await (const event of client.messages.stream({ ...common, tools, messages: user(prompt) })) {
          if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') yield event.delta.text
        }
      },
      loop(prompt, { isStream, run }) {
        const messages: Anthropic1.MessageParam[] = user(prompt)
        const request = { ...common, tools, messages }
        let results: Anthropic1.ToolResultBlockParam[] = []
        return runLoop({
          async ask() {
            if (results.length > 0) messages.push({ role: 'user', content: results })
            results = []
            const { content } = isStream
              ? await client.messages.stream(request).finalMessage()
              : await client.messages.create(request)
            messages.push({ role: 'assistant', content })
            const calls = content.flatMap(block => (block.type === 'tool_use' ? [block] : []))
            return { text: readText(content), calls }
          },
          addResult(call) {
            results.push({ type: 'tool_result', tool_use_id: call.id, content: JSON.stringify(run(call.input)) })
          }
        })
      },
      async parse(prompt) {
        const format = { type: 'json_schema' as const, schema: answerSchema }
        if (generation === '1') {
          const output_config = { format }
          const { content } = await client.messages.create({ ...common, messages: user(prompt), output_config })
          return JSON.parse(readText(content))
        }
        // The beta of this generation has the format at the top level.
        const request = {
          ...common,
          messages: user(prompt),
          output_format: format,
          betas: ['structured-outputs-2025-11-13']
        }
        const { content } = await client.beta.messages.create(request)
        return JSON.parse(readText(content as Anthropic1.ContentBlock[]))
      },
      readStatus: error => (error instanceof Class.APIError ? error.status : undefined)
    }
  })
}

export function createLangchainAdapter(origin: Origin): Adapter {
  const { AIMessage, HumanMessage, ToolMessage } = langchainMessages0
  const chat = new ChatAnthropic0({
    model: origin.model,
    apiKey: 'unused',
    maxRetries: 0,
    maxTokens: 256,
    anthropicApiUrl: readBase(origin)
  })
  const tools = [{ name: weather.name, description: weather.description, input_schema: weather.schema }]
  const bound = chat.bindTools(tools)
  return {
    name: '@langchain/anthropic 0.3',
    async ask(prompt) {
      return (await chat.invoke(prompt)).text
    },
    async *stream(prompt) {
      for await (const { text } of await bound.stream(prompt)) if (text !== '') yield text
    },
    loop(prompt, { isStream, run }) {
      const messages: langchainMessages0.BaseMessage[] = [new HumanMessage(prompt)]
      return runLoop({
        async ask() {
          const message = isStream ? await readSum(bound.stream(messages)) : await bound.invoke(messages)
          if (!(message instanceof AIMessage || 'tool_calls' in message)) throw new Error('No message of the model.')
          messages.push(message)
          return { text: message.text, calls: message.tool_calls ?? [] }
        },
        addResult(call) {
          messages.push(new ToolMessage({ tool_call_id: call.id ?? '', content: JSON.stringify(run(call.args)) }))
        }
      })
    },
    parse: prompt => chat.withStructuredOutput(answerSchema).invoke(prompt),
    readStatus: error => (error instanceof Error ? (error as { status?: number }).status : undefined)
  }
}

async function readSum(stream: Promise<AsyncIterable<langchainMessages0.AIMessageChunk>>) {
  let sum: langchainMessages0.AIMessageChunk | undefined
  for await (const chunk of await stream) sum = sum === undefined ? chunk : sum.concat(chunk)
  if (sum === undefined) throw new Error('The stream was empty.')
  return sum
}
