// Shared by the tests with the Vercel AI SDK: a started gateway and one model for each of the four operations.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { type LanguageModel, tool } from 'ai'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { type FrameworkGateway, startFrameworkGateway } from '../../support/framework-gateway.ts'

// The SDK warns once for a model name that its catalog does not have.
globalThis.AI_SDK_LOG_WARNINGS = false

export const upstreamModel = 'GigaChat-2-Max'
export const versions = ['v1', 'v2'] as const
export type Version = (typeof versions)[number]
export type Kind = 'chat' | 'responses' | 'messages' | 'content'

/** The model of each operation as an application creates it, with the base URL that its provider expects. */
export function createModels(url: string, version: Version, id: string = upstreamModel) {
  const { openai, anthropic, google } = createProviders(url, version)
  return {
    chat: openai.chat(id),
    responses: openai.responses(id),
    messages: anthropic(id),
    content: google(id)
  } satisfies Record<Kind, LanguageModel>
}

export function createProviders(url: string, version: Version) {
  return {
    openai: createOpenAI({ baseURL: `${url}/${version}`, apiKey: 'unused' }),
    anthropic: createAnthropic({ baseURL: `${url}/${version}`, apiKey: 'unused' }),
    google: createGoogle({ baseURL: `${url}/${version}/v1beta`, apiKey: 'unused' })
  }
}

/**
 * The options of every call of these tests. The Responses model assumes that the server stores every response unless `store` is
 * false, and would then refer to earlier texts by the id of an item.
 */
export const calm = { maxRetries: 0, maxOutputTokens: 256, providerOptions: { openai: { store: false } } }

export interface Seat {
  /** Such as `v2 messages`, for the names of tests. */
  name: string
  version: Version
  kind: Kind
  model: LanguageModel
}

export interface Stack extends FrameworkGateway {
  /** Every version with every operation. */
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
  const weather = tool({
    description: 'Current weather',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      cities.push(city)
      return { city, temperature: 21 }
    }
  })
  return { weather, cities }
}

/** The steps of a loop, without ids and metadata. */
export function outline(
  steps: ReadonlyArray<{ finishReason: string; text: string; toolCalls: ReadonlyArray<{ input: unknown }> }>
) {
  return steps.map(({ finishReason, text, toolCalls }) => ({
    finishReason,
    text,
    inputs: toolCalls.map(({ input }) => input)
  }))
}
