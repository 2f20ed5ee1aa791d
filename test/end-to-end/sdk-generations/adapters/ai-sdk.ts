// The Vercel AI SDK 4 to 7 with the providers of the same generation. The types of the newest generation stand for all.

import { createAnthropic as createAnthropic4 } from '@ai-sdk/anthropic'
import { createGoogle as createGoogle4 } from '@ai-sdk/google'
import { createOpenAI as createOpenAI4 } from '@ai-sdk/openai'
import { createOpenAICompatible as createCompatible3 } from '@ai-sdk/openai-compatible'
import * as ai7 from 'ai'
import * as ai5 from 'ai-5'
import * as ai6 from 'ai-6'
import { createAnthropic as createAnthropic2 } from 'ai-sdk-anthropic-2'
import { createAnthropic as createAnthropic3 } from 'ai-sdk-anthropic-3'
import { createGoogleGenerativeAI as createGoogle2 } from 'ai-sdk-google-2'
import { createGoogleGenerativeAI as createGoogle3 } from 'ai-sdk-google-3'
import { createOpenAI as createOpenAI2 } from 'ai-sdk-openai-2'
import { createOpenAI as createOpenAI3 } from 'ai-sdk-openai-3'
import { createOpenAICompatible as createCompatible1 } from 'ai-sdk-openai-compatible-1'
import { createOpenAICompatible as createCompatible2 } from 'ai-sdk-openai-compatible-2'
import { type Adapter, answerSchema, type Origin, weather } from '../adapter.ts'
import { ai4, createGoogle1 } from '../older/index.ts'

type Ai = typeof ai7
type Model = ai7.LanguageModel

interface Generation {
  name: string
  ai: Ai
  createModels(place: { base: string; google: string; modelId: string }): Record<string, Model>
}

const apiKey = 'unused'
/** Without the last option this provider asks for JSON without a schema. */
const compatible = { name: 'gateway', apiKey, supportsStructuredOutputs: true }

/** This provider takes a name with a slash for a path of its own, unless it begins so. */
const nameForGoogle = (modelId: string) => (modelId.includes('/') ? `models/${modelId}` : modelId)

const generations: Generation[] = [
  {
    name: 'ai 4',
    ai: ai4 as unknown as Ai,
    createModels: ({ google, modelId }) => ({
      google: createGoogle1({ baseURL: google, apiKey })(nameForGoogle(modelId)) as unknown as Model
    })
  },
  {
    name: 'ai 5',
    ai: ai5 as unknown as Ai,
    createModels: ({ base: baseURL, google, modelId }) => ({
      completions: createOpenAI2({ baseURL, apiKey }).chat(modelId) as unknown as Model,
      responses: createOpenAI2({ baseURL, apiKey }).responses(modelId) as unknown as Model,
      anthropic: createAnthropic2({ baseURL, apiKey })(modelId) as unknown as Model,
      google: createGoogle2({ baseURL: google, apiKey })(nameForGoogle(modelId)) as unknown as Model,
      'openai-compatible': createCompatible1({ baseURL, ...compatible })(modelId) as unknown as Model
    })
  },
  {
    name: 'ai 6',
    ai: ai6 as unknown as Ai,
    createModels: ({ base: baseURL, google, modelId }) => ({
      completions: createOpenAI3({ baseURL, apiKey }).chat(modelId) as Model,
      responses: createOpenAI3({ baseURL, apiKey }).responses(modelId) as Model,
      anthropic: createAnthropic3({ baseURL, apiKey })(modelId) as Model,
      google: createGoogle3({ baseURL: google, apiKey })(nameForGoogle(modelId)) as Model,
      'openai-compatible': createCompatible2({ baseURL, ...compatible })(modelId) as Model
    })
  },
  {
    name: 'ai 7',
    ai: ai7,
    createModels: ({ base: baseURL, google, modelId }) => ({
      completions: createOpenAI4({ baseURL, apiKey }).chat(modelId),
      responses: createOpenAI4({ baseURL, apiKey }).responses(modelId),
      anthropic: createAnthropic4({ baseURL, apiKey })(modelId),
      google: createGoogle4({ baseURL: google, apiKey })(nameForGoogle(modelId)),
      'openai-compatible': createCompatible3({ baseURL, ...compatible })(modelId)
    })
  }
]

// The SDK warns once for a model name that its catalog does not have.
globalThis.AI_SDK_LOG_WARNINGS = false

export function createAiSdkAdapters({ url, version, model: modelId }: Origin): Adapter[] {
  const base = `${url}/${version}`
  return generations.flatMap(({ name, ai, createModels }) =>
    Object.entries(createModels({ base, google: `${base}/v1beta`, modelId })).map(([kind, model]) =>
      createAdapter(ai, `${name} ${kind}`, model)
    )
  )
}

function createAdapter(ai: Ai, name: string, model: Model): Adapter {
  const { generateText, streamText, jsonSchema, APICallError } = ai
  // The Responses provider refers to stored items unless it is told that none are stored.
  const common = { model, maxRetries: 0, maxOutputTokens: 256, providerOptions: { openai: { store: false } } }
  // Keeps the SDK from printing the provoked errors.
  const quiet = { onError: () => undefined }
  const schema = jsonSchema<{ city: string }>(weather.schema)
  // Generation 4 calls the schema `parameters` and bounds the loop with `maxSteps`.
  const declared = { description: weather.description, inputSchema: schema, parameters: schema }
  // This provider does not read `response.failed`: the application learns of a failure only by the unknown finish reason.
  const isBlind = name === 'ai 5 responses'
  const limits = { stopWhen: ai.stepCountIs?.(4), maxSteps: 4 }

  /** The texts of a stream. */
  async function* readTexts(request: Parameters<typeof streamText>[0]): AsyncIterable<string> {
    for await (const part of readParts(streamText({ ...request, ...quiet }))) {
      raise(part)
      if (isBlind && part.type === 'finish' && part.finishReason === 'unknown') throw new Error('No finish reason.')
      if (part.type === 'text-delta') yield part.text ?? part.textDelta ?? part.delta ?? ''
    }
  }

  return {
    name,
    async ask(prompt) {
      return (await generateText({ ...common, prompt })).text
    },
    stream: prompt => readTexts({ ...common, prompt, tools: { weather: declared } }),
    async loop(prompt, { isStream, run }) {
      const tools = { weather: { ...declared, execute: async (input: { city: string }) => run(input) } }
      const request = { ...common, ...limits, prompt, tools } as Parameters<typeof generateText>[0]
      if (!isStream) return (await generateText(request)).text
      const result = streamText({ ...(request as Parameters<typeof streamText>[0]), ...quiet })
      for await (const part of readParts(result)) raise(part)
      return result.text
    },
    async parse(prompt) {
      const { object } = await ai.generateObject({ ...common, prompt, schema: jsonSchema(answerSchema) })
      return object
    },
    readStatus: error => (APICallError.isInstance(error) ? error.statusCode : undefined)
  }
}

interface Part {
  type: string
  error?: unknown
  text?: string
  textDelta?: string
  delta?: string
  finishReason?: string
}

/** The parts of a stream; the newest generation has renamed the member. */
function readParts(result: { stream?: unknown; fullStream?: unknown }): AsyncIterable<Part> {
  return (result.stream ?? result.fullStream) as AsyncIterable<Part>
}

/** Throws an error part. Its error is the frame's content when the failure came within the stream. */
function raise({ type, error }: Part): void {
  if (type !== 'error') return
  throw error instanceof Error ? error : new Error('The stream has an error part.', { cause: error })
}
