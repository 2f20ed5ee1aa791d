// The Vercel AI SDK 5 to 7 with `openai(id)`: the Responses API is its default, and it refers to stored items by their ids.

import { createOpenAI as createOpenAI4 } from '@ai-sdk/openai'
import * as ai7 from 'ai'
import * as ai5 from 'ai-5'
import * as ai6 from 'ai-6'
import { createOpenAI as createOpenAI2 } from 'ai-sdk-openai-2'
import { createOpenAI as createOpenAI3 } from 'ai-sdk-openai-3'
import { type MemoryClient, type Place, TURNS_MAX, weather } from '../client.ts'

type Ai = typeof ai7

// The SDK warns once for a model name that its catalog does not have.
globalThis.AI_SDK_LOG_WARNINGS = false

export function createAiSdkClients({ baseUrl: baseURL, model, fetch }: Place): MemoryClient[] {
  const options = { baseURL, apiKey: 'unused', fetch }
  return [
    // The types of the newest generation stand for all.
    createClient('ai 5', ai5 as unknown as Ai, createOpenAI2(options)(model) as unknown as ai7.LanguageModel),
    createClient('ai 6', ai6 as unknown as Ai, createOpenAI3(options)(model) as ai7.LanguageModel),
    createClient('ai 7', ai7, createOpenAI4(options)(model))
  ]
}

function createClient(name: string, ai: Ai, model: ai7.LanguageModel): MemoryClient {
  const { generateText, streamText, jsonSchema, stepCountIs } = ai
  return {
    name,
    names: 'item_reference',
    start({ isStream, run }) {
      const messages: ai7.ModelMessage[] = []
      const execute = async (input: { city: string }) => run(input)
      const inputSchema = jsonSchema<{ city: string }>(weather.schema)
      const request = {
        model,
        messages,
        maxRetries: 0,
        tools: { weather: { description: weather.description, inputSchema, execute } },
        stopWhen: stepCountIs(TURNS_MAX)
      }
      // Older generations have the messages of all steps at the last response.
      return async prompt => {
        messages.push({ role: 'user', content: prompt })
        if (!isStream) {
          const result = await generateText(request)
          messages.push(...(result.responseMessages ?? result.response.messages))
          return result.text
        }
        let failure: unknown
        const result = streamText({
          ...request,
          onError({ error }) {
            failure = error
          }
        })
        await result.consumeStream()
        if (failure !== undefined) throw failure
        messages.push(...((await result.responseMessages) ?? (await result.response).messages))
        return await result.text
      }
    }
  }
}
