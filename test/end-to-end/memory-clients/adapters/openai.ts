// The official SDK alone: each response continues the last one, or all belong to a conversation.

import OpenAI from 'openai'
import { type ConversationOptions, type MemoryClient, type Place, TURNS_MAX, weather } from '../client.ts'

type Request = OpenAI.Responses.ResponseCreateParamsNonStreaming
type Response = OpenAI.Responses.Response
const tools = [
  { type: 'function' as const, name: weather.name, parameters: weather.schema, strict: true }
] satisfies OpenAI.Responses.Tool[]

export function createOpenAiClients({ baseUrl: baseURL, model, fetch }: Place): MemoryClient[] {
  const client = new OpenAI({ baseURL, apiKey: 'unused', maxRetries: 0, fetch })

  /** `place` says what a request continues, from the response before it. */
  function start(options: ConversationOptions, place: (last: Response | undefined) => Promise<Partial<Request>>) {
    let last: Response | undefined
    return async (prompt: string) => {
      let input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: prompt }]
      for (let count = 0; count < TURNS_MAX; count++) {
        const request: Request = { model, tools, input, ...(await place(last)) }
        last = options.isStream
          ? await client.responses.stream({ ...request, stream: true }).finalResponse()
          : await client.responses.create(request)
        const calls = last.output.filter(item => item.type === 'function_call')
        if (calls.length === 0) return last.output_text
        input = calls.map(({ call_id, arguments: given }) => {
          const output = JSON.stringify(options.run(JSON.parse(given)))
          return { type: 'function_call_output', call_id, output }
        })
      }
      throw new Error('The loop does not end.')
    }
  }

  return [
    {
      name: 'openai, previous_response_id',
      names: 'previous_response_id',
      start: options => start(options, async last => (last === undefined ? {} : { previous_response_id: last.id }))
    },
    {
      name: 'openai, conversation',
      names: 'conversation',
      start(options) {
        let id: string | undefined
        return start(options, async () => {
          id ??= (await client.conversations.create()).id
          return { conversation: id }
        })
      }
    }
  ]
}
