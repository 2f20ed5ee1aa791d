// `@mistralai/mistralai`: a strict reader of completions, which validates every response and chunk against its schema.

import { Mistral } from '@mistralai/mistralai'
import type { ChatCompletionRequestMessage, ToolCall } from '@mistralai/mistralai/models/components'
import { MistralError } from '@mistralai/mistralai/models/errors'
import { type Adapter, answerSchema, type Origin, runLoop, weather } from '../adapter.ts'

export function createMistralAdapter({ url, version, model }: Origin): Adapter {
  // The SDK appends /v1/chat/completions; after /v2 the first version decides.
  const { chat } = new Mistral({
    serverURL: version === 'v1' ? url : `${url}/v2`,
    apiKey: 'unused',
    retryConfig: { strategy: 'none' }
  })
  const { name, description, schema } = weather
  const tools = [{ type: 'function' as const, function: { name, description, parameters: schema } }]
  const user = (content: string) => [{ role: 'user' as const, content }]
  return {
    name: '@mistralai/mistralai',
    async ask(prompt) {
      return readText((await chat.complete({ model, messages: user(prompt) })).choices[0]?.message?.content)
    },
    async *stream(prompt) {
      for await (const { data } of await chat.stream({ model, tools, messages: user(prompt) })) {
        const text = readText(data.choices[0]?.delta.content)
        if (text !== '') yield text
      }
    },
    loop(prompt, { isStream, run }) {
      const messages: ChatCompletionRequestMessage[] = user(prompt)
      return runLoop({
        async ask() {
          let text = ''
          const toolCalls: ToolCall[] = []
          if (isStream) {
            for await (const { data } of await chat.stream({ model, tools, messages })) {
              text += readText(data.choices[0]?.delta.content)
              toolCalls.push(...(data.choices[0]?.delta.toolCalls ?? []))
            }
          } else {
            const message = (await chat.complete({ model, tools, messages })).choices[0]?.message
            text = readText(message?.content)
            toolCalls.push(...(message?.toolCalls ?? []))
          }
          messages.push({ role: 'assistant', content: text, ...(toolCalls.length > 0 ? { toolCalls } : {}) })
          return { text, calls: toolCalls }
        },
        addResult(call) {
          const { arguments: args, name: called } = call.function
          const input: unknown = typeof args === 'string' ? JSON.parse(args) : args
          messages.push({ role: 'tool', toolCallId: call.id ?? '', name: called, content: JSON.stringify(run(input)) })
        }
      })
    },
    async parse(prompt) {
      const responseFormat = {
        type: 'json_schema' as const,
        jsonSchema: { name: 'answer', schemaDefinition: answerSchema, strict: true }
      }
      const { choices } = await chat.complete({ model, messages: user(prompt), responseFormat })
      return JSON.parse(readText(choices[0]?.message?.content))
    },
    readStatus: error => (error instanceof MistralError ? error.statusCode : undefined)
  }
}

function readText(content: unknown): string {
  return typeof content === 'string' ? content : ''
}
