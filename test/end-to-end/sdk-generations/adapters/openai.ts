// `openai` 4 to 7, with both operations. The types of the newest generation stand for all: the members used here are the same.

import OpenAI7 from 'openai'
import OpenAI6 from 'openai-6'
import { type Adapter, answerSchema, type Origin, runLoop, weather } from '../adapter.ts'
import { OpenAI4, OpenAI5 } from '../older/index.ts'

type OpenAI = typeof OpenAI7

const generations = [
  [4, OpenAI4 as unknown as OpenAI],
  [5, OpenAI5 as unknown as OpenAI],
  [6, OpenAI6 as unknown as OpenAI],
  [7, OpenAI7]
] as const

export function createOpenAiAdapters({ url, version, model }: Origin): Adapter[] {
  return generations.flatMap(([generation, Class]) => {
    const client = new Class({ baseURL: `${url}/${version}`, apiKey: 'unused', maxRetries: 0 })
    const readStatus = (error: unknown) => (error instanceof Class.APIError ? error.status : undefined)
    return [
      { name: `openai ${generation} completions`, readStatus, ...createCompletions(client, model) },
      {
        name: `openai ${generation} responses`,
        readStatus,
        ...createResponses(client, model)
      }
    ]
  })
}

type Calls = Omit<Adapter, 'name' | 'readStatus'>
type Client = InstanceType<OpenAI>

function createCompletions(client: Client, model: string): Calls {
  // Generation 4 has the helpers in its beta part.
  const legacy = client.beta as unknown as { chat: { completions: Client['chat']['completions'] } }
  const helpers = 'parse' in client.chat.completions ? client.chat.completions : legacy.chat.completions
  const user = (content: string) => [{ role: 'user' as const, content }]
  const { name, description, schema } = weather
  const tools = [{ type: 'function' as const, function: { name, description, parameters: schema } }]
  return {
    async ask(prompt) {
      const { choices } = await client.chat.completions.create({ model, messages: user(prompt) })
      return choices[0]?.message.content ?? ''
    },
    async *stream(prompt) {
      const request = { model, tools, stream: true as const, messages: user(prompt) }
      for await (const { choices } of await client.chat.completions.create(request)) {
        if (choices[0]?.delta.content) yield choices[0].delta.content
      }
    },
    loop(prompt, { isStream, run }) {
      const messages: OpenAI7.ChatCompletionMessageParam[] = user(prompt)
      const request = { model, tools, messages }
      return runLoop({
        async ask() {
          const completion = isStream
            ? await helpers.stream(request).finalChatCompletion()
            : await client.chat.completions.create(request)
          const message = completion.choices[0]?.message
          if (message === undefined) throw new Error('The response has no choice.')
          messages.push(message)
          return { text: message.content ?? '', calls: message.tool_calls ?? [] }
        },
        addResult(call) {
          if (call.type !== 'function') throw new Error(`A call of type ${call.type}.`)
          const content = JSON.stringify(run(JSON.parse(call.function.arguments)))
          messages.push({ role: 'tool', tool_call_id: call.id, content })
        }
      })
    },
    async parse(prompt) {
      const json_schema = { name: 'answer', schema: answerSchema, strict: true }
      const response_format = { type: 'json_schema' as const, json_schema }
      const { choices } = await helpers.parse({ model, messages: user(prompt), response_format })
      return choices[0]?.message.parsed
    }
  }
}

function createResponses(client: Client, model: string): Calls {
  const { name, description, schema } = weather
  const tools = [{ type: 'function' as const, name, description, parameters: schema, strict: true }]
  // Items of a stored response are referred to by id; the gateway stores none on v1.
  const common = { model, store: false }
  return {
    async ask(prompt) {
      return readText((await client.responses.create({ ...common, input: prompt })).output)
    },
    async *stream(prompt) {
      for await (const event of client.responses.stream({ ...common, tools, input: prompt })) {
        if (event.type === 'response.output_text.delta') yield event.delta
        // The SDK yields both events and ends the stream as if it were complete.
        if (event.type === 'response.failed') throw new Error(event.response.error?.message)
      }
    },
    loop(prompt, { isStream, run }) {
      const input: OpenAI7.Responses.ResponseInputItem[] = [{ role: 'user', content: prompt }]
      const request = { ...common, tools, input }
      return runLoop({
        async ask() {
          const response = isStream
            ? await client.responses.stream(request).finalResponse()
            : await client.responses.create(request)
          input.push(...(response.output as OpenAI7.Responses.ResponseInputItem[]))
          const calls = response.output.flatMap(item => (item.type === 'function_call' ? [item] : []))
          return { text: readText(response.output), calls }
        },
        addResult(call) {
          const output = JSON.stringify(run(JSON.parse(call.arguments)))
          input.push({ type: 'function_call_output', call_id: call.call_id, output })
        }
      })
    },
    async parse(prompt) {
      const format = { type: 'json_schema' as const, name: 'answer', schema: answerSchema, strict: true }
      return (await client.responses.parse({ ...common, input: prompt, text: { format } })).output_parsed
    }
  }
}

/** The text of all messages; the older generations have no `output_text` on an accumulated response. */
function readText(output: readonly OpenAI7.Responses.ResponseOutputItem[]): string {
  const parts = output.flatMap(item => (item.type === 'message' ? item.content : []))
  return parts.map(part => (part.type === 'output_text' ? part.text : '')).join('')
}
