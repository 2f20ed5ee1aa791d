// `@openai/agents` with both operations: its runner repeats the calls of the SDK below it.

import {
  Agent,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  run as runAgent,
  setTracingDisabled,
  tool
} from '@openai/agents'
import OpenAI from 'openai'
import { type Adapter, answerSchema, type Origin, weather } from '../adapter.ts'

// Traces go to the service of the SDK's vendor unless they are switched off.
setTracingDisabled(true)

export function createAgentsAdapters({ url, version, model }: Origin): Adapter[] {
  const client = new OpenAI({ baseURL: `${url}/${version}`, apiKey: 'unused', maxRetries: 0 })
  return [
    createAdapter('@openai/agents completions', new OpenAIChatCompletionsModel(client, model)),
    createAdapter('@openai/agents responses', new OpenAIResponsesModel(client, model))
  ]
}

function createAdapter(name: string, model: OpenAIChatCompletionsModel | OpenAIResponsesModel): Adapter {
  const common = { name: 'agent', model }
  const createWeather = (run: (input: unknown) => object) =>
    tool({
      name: weather.name,
      description: weather.description,
      parameters: weather.schema as never,
      strict: true as never,
      execute: async (input: unknown) => JSON.stringify(run(input)),
      // The runner otherwise hands a failure of the tool to the model.
      errorFunction: null
    })
  return {
    name,
    async ask(prompt) {
      return (await runAgent(new Agent(common), prompt)).finalOutput ?? ''
    },
    async *stream(prompt) {
      const agent = new Agent({ ...common, tools: [createWeather(() => ({}))] })
      const result = await runAgent(agent, prompt, { stream: true })
      for await (const piece of result.toTextStream()) yield piece
      await result.completed
    },
    async loop(prompt, { isStream, run }) {
      const agent = new Agent({ ...common, tools: [createWeather(run)] })
      if (!isStream) return (await runAgent(agent, prompt)).finalOutput ?? ''
      const result = await runAgent(agent, prompt, { stream: true })
      await result.completed
      return result.finalOutput ?? ''
    },
    async parse(prompt) {
      const outputType = { type: 'json_schema', name: 'answer', strict: true, schema: answerSchema } as const
      const agent = new Agent({ ...common, outputType: outputType as never }) as unknown as Agent
      return (await runAgent(agent, prompt)).finalOutput
    },
    readStatus: error => (error instanceof OpenAI.APIError ? error.status : undefined)
  }
}
