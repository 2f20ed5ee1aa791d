// LangChain's `ChatOpenAI` on Responses, whose call option `previous_response_id` replaces the messages before it.

import { type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { type MemoryClient, type Place, TURNS_MAX, weather } from '../client.ts'

// No traces are sent from this process, even when the environment switches them on.
process.env.LANGSMITH_TRACING = 'false'
process.env.LANGCHAIN_TRACING_V2 = 'false'

export function createLangchainClient({ baseUrl: baseURL, model, fetch }: Place): MemoryClient {
  const configuration = { baseURL, fetch }
  const chat = new ChatOpenAI({ model, apiKey: 'unused', maxRetries: 0, configuration, useResponsesApi: true })
  return {
    name: 'langchain, previous_response_id',
    names: 'previous_response_id',
    start({ isStream, run }) {
      const weatherTool = tool(async (input: { city: string }) => JSON.stringify(run(input)), {
        name: weather.name,
        description: weather.description,
        schema: z.object({ city: z.string() })
      })
      const bound = chat.bindTools([weatherTool])
      let last: string | undefined

      async function ask(messages: BaseMessage[]): Promise<AIMessageChunk> {
        const options = last === undefined ? {} : { previous_response_id: last }
        const response = isStream
          ? await addUp(await bound.stream(messages, options))
          : await bound.invoke(messages, options)
        last = String(response.response_metadata.id ?? response.id)
        return response
      }

      return async prompt => {
        let messages: BaseMessage[] = [new HumanMessage(prompt)]
        for (let count = 0; count < TURNS_MAX; count++) {
          const response = await ask(messages)
          const calls = response.tool_calls ?? []
          if (calls.length === 0) return response.text
          messages = await Promise.all(calls.map(call => weatherTool.invoke({ ...call, type: 'tool_call' })))
        }
        throw new Error('The loop does not end.')
      }
    }
  }
}

async function addUp(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let sum: AIMessageChunk | undefined
  for await (const chunk of stream) sum = sum === undefined ? chunk : sum.concat(chunk)
  if (sum === undefined) throw new Error('The stream was empty.')
  return sum
}
