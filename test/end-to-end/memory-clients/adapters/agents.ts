// `@openai/agents`: each run continues the last response, or one of the three forms of a conversation keeps the history.

import {
  Agent,
  OpenAIConversationsSession,
  OpenAIResponsesModel,
  run as runAgent,
  setTracingDisabled,
  tool
} from '@openai/agents'
import OpenAI from 'openai'
import { type ConversationOptions, type MemoryClient, type Place, weather } from '../client.ts'

// Traces go to the service of the SDK's vendor unless they are switched off.
setTracingDisabled(true)

type State = { previousResponseId?: string; conversationId?: string; session?: OpenAIConversationsSession }

export function createAgentsClients({ baseUrl: baseURL, model: id, fetch }: Place): MemoryClient[] {
  const client = new OpenAI({ baseURL, apiKey: 'unused', maxRetries: 0, fetch })
  const model = new OpenAIResponsesModel(client, id)

  /** `open` creates what is kept from run to run. */
  function start({ isStream, run }: ConversationOptions, open: () => Promise<State>, follows: boolean) {
    const agent = new Agent({ name: 'agent', model, tools: [createWeather(run)] })
    let state: Promise<State> | undefined
    return async (prompt: string) => {
      state ??= open()
      const options = await state
      if (!isStream) {
        const result = await runAgent(agent, prompt, options)
        if (follows) state = Promise.resolve({ previousResponseId: result.lastResponseId ?? '' })
        return result.finalOutput ?? ''
      }
      const result = await runAgent(agent, prompt, { ...options, stream: true })
      await result.completed
      if (follows) state = Promise.resolve({ previousResponseId: result.lastResponseId ?? '' })
      return result.finalOutput ?? ''
    }
  }

  return [
    {
      name: '@openai/agents, previousResponseId',
      names: 'previous_response_id',
      start: options => start(options, async () => ({}), true)
    },
    {
      name: '@openai/agents, conversationId',
      names: 'conversation',
      start: options =>
        start(options, async () => ({ conversationId: (await client.conversations.create({})).id }), false)
    },
    {
      name: '@openai/agents, session',
      names: '/conversations/',
      start: options => start(options, async () => ({ session: new OpenAIConversationsSession({ client }) }), false)
    }
  ]
}

function createWeather(run: (input: unknown) => object) {
  return tool({
    name: weather.name,
    description: weather.description,
    parameters: weather.schema as never,
    strict: true as never,
    execute: async (input: unknown) => JSON.stringify(run(input)),
    // The runner otherwise hands a failure of the tool to the model.
    errorFunction: null
  })
}
