// Shared by the tests with LangChain: a started gateway and its chat models, which use the SDKs of all four operations.

import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { type StructuredToolInterface, tool } from '@langchain/core/tools'
import { ChatGoogle } from '@langchain/google'
import { ChatGoogleGenerativeAI } from '@langchain/google-genai'
import { ChatOpenAI } from '@langchain/openai'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { type FrameworkGateway, startFrameworkGateway } from '../../support/framework-gateway.ts'

// No traces are sent from this process, even when the environment switches them on.
process.env.LANGSMITH_TRACING = 'false'
process.env.LANGCHAIN_TRACING_V2 = 'false'

export const versions = ['v1', 'v2'] as const
export type Version = (typeof versions)[number]
/** The content family has two packages: one uses the first SDK of that family, its successor uses no SDK. */
export type Kind = 'chat' | 'responses' | 'messages' | 'content' | 'content-legacy'

/** The chat models as an application creates them, with the base URLs that the packages expect. */
export function createModels(url: string, version: Version, model = 'GigaChat-2-Max'): Record<Kind, BaseChatModel> {
  const common = { model, apiKey: 'unused', maxRetries: 0 }
  const configuration = { baseURL: `${url}/${version}` }
  return {
    chat: new ChatOpenAI({ ...common, configuration }),
    responses: new ChatOpenAI({ ...common, configuration, useResponsesApi: true }),
    // Its SDK appends /v1/messages to the URL; after /v2 the first version decides.
    messages: new ChatAnthropic({ ...common, anthropicApiUrl: version === 'v1' ? url : `${url}/v2`, maxTokens: 256 }),
    content: new ChatGoogle({ ...common, endpoint: `${url}/${version}`, platformType: 'gai' }),
    'content-legacy': new ChatGoogleGenerativeAI({ ...common, baseUrl: `${url}/${version}` })
  }
}

export interface Seat {
  /** Such as `v2 messages`, for the names of tests. */
  name: string
  version: Version
  kind: Kind
  model: BaseChatModel
}

export interface Stack extends FrameworkGateway {
  /** Every version with every chat model. */
  seats: Seat[]
}

export async function startStack(t: Test, env: Record<string, string> = {}): Promise<Stack> {
  const stack = await startFrameworkGateway(t, env)
  const seats = versions.flatMap(version =>
    Object.entries(createModels(stack.gateway.url, version)).map(([kind, model]) => ({
      name: `${version} ${kind}`,
      version,
      kind: kind as Kind,
      model
    }))
  )
  return { ...stack, seats }
}

let shared: Promise<Stack> | undefined

/** The stack of all cases of the folder that need no settings of their own. Like `startSharedGateway`. */
export function startSharedStack(): Promise<Stack> {
  shared ??= startStack(t)
  return shared
}

/** A tool that records the cities of its calls. */
export function createWeather() {
  const cities: string[] = []
  const weather = tool(
    async ({ city }: { city: string }) => {
      cities.push(city)
      return JSON.stringify({ city, temperature: 21 })
    },
    { name: 'weather', description: 'Current weather', schema: z.object({ city: z.string() }) }
  )
  return { weather, cities }
}

/** A chat model with tools; every model of these tests supports them. */
export function bind(model: BaseChatModel, tools: StructuredToolInterface[], options: object = {}) {
  if (model.bindTools === undefined) throw new Error('This chat model takes no tools.')
  return model.bindTools(tools, options)
}

/** The HTTP status of an error; the packages name it differently. */
export function readStatus(error: unknown): unknown {
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown }
  return status ?? statusCode
}

/** The sum of a stream. */
export async function addUp(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let sum: AIMessageChunk | undefined
  for await (const chunk of stream) sum = sum === undefined ? chunk : sum.concat(chunk)
  if (sum === undefined) throw new Error('The stream was empty.')
  return sum
}

export interface Turn {
  text: string
  calls: Array<[name: string, input: unknown]>
}

/** Calls the model and runs its tool calls until it returns none, as an agent does. At most six turns. */
export async function runLoop(
  model: BaseChatModel,
  prompt: string,
  options: { tools: StructuredToolInterface[]; isStream: boolean; toolOptions?: object }
): Promise<Turn[]> {
  const bound = bind(model, options.tools, options.toolOptions)
  const messages: BaseMessage[] = [new HumanMessage(prompt)]
  const turns: Turn[] = []
  while (turns.length < 6) {
    const response = options.isStream ? await addUp(await bound.stream(messages)) : await bound.invoke(messages)
    const calls = response.tool_calls ?? []
    turns.push({ text: response.text, calls: calls.map(({ name, args }) => [name, args]) })
    messages.push(response)
    if (calls.length === 0) break
    for (const call of calls) {
      const chosen = options.tools.find(({ name }) => name === call.name)
      messages.push(await chosen?.invoke(call))
    }
  }
  return turns
}
