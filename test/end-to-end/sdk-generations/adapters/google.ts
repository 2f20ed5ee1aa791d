// `@google/genai` 1.52 to 3, and `@google/generative-ai`, its predecessor.

import {
  ApiError as ApiError3,
  type Content,
  type GenerateContentResponse,
  GoogleGenAI as GoogleGenAI3
} from '@google/genai'
import {
  type EnhancedGenerateContentResponse,
  GoogleGenerativeAI,
  GoogleGenerativeAIFetchError,
  type Content as OldContent,
  type Schema
} from '@google/generative-ai'
import { ApiError as ApiError1, GoogleGenAI as GoogleGenAI1 } from 'google-genai-1'
import { ApiError as ApiError2, GoogleGenAI as GoogleGenAI2 } from 'google-genai-2'
import { type Adapter, answerSchema, type Origin, runLoop, weather } from '../adapter.ts'

const generations = [
  ['1.52', GoogleGenAI1 as unknown as typeof GoogleGenAI3, ApiError1],
  ['2', GoogleGenAI2 as unknown as typeof GoogleGenAI3, ApiError2],
  ['3', GoogleGenAI3, ApiError3]
] as const

export function createGenaiAdapters({ url, version, model }: Origin): Adapter[] {
  return generations.map(([generation, Class, ErrorClass]) => {
    const { models } = new Class({ apiKey: 'unused', httpOptions: { baseUrl: `${url}/${version}` } })
    const declaration = { name: weather.name, description: weather.description, parametersJsonSchema: weather.schema }
    const config = { tools: [{ functionDeclarations: [declaration] }] }
    return {
      name: `@google/genai ${generation}`,
      async ask(prompt) {
        return (await models.generateContent({ model, contents: prompt })).text ?? ''
      },
      async *stream(prompt) {
        for await (const chunk of await models.generateContentStream({ model, contents: prompt, config })) {
          const text = readText(chunk)
          if (text !== '') yield text
        }
      },
      loop(prompt, { isStream, run }) {
        const contents: Content[] = [{ role: 'user', parts: [{ text: prompt }] }]
        let results: NonNullable<Content['parts']> = []
        return runLoop({
          async ask() {
            if (results.length > 0) contents.push({ role: 'user', parts: results })
            results = []
            const chunks: GenerateContentResponse[] = []
            if (isStream) {
              for await (const chunk of await models.generateContentStream({ model, contents, config }))
                chunks.push(chunk)
            } else {
              chunks.push(await models.generateContent({ model, contents, config }))
            }
            const parts = chunks.flatMap(chunk => chunk.candidates?.[0]?.content?.parts ?? [])
            contents.push({ role: 'model', parts })
            return { text: chunks.map(readText).join(''), calls: chunks.flatMap(chunk => chunk.functionCalls ?? []) }
          },
          addResult({ id, name, args }) {
            const identity = { ...(id === undefined ? {} : { id }), name: name ?? '' }
            results.push({ functionResponse: { ...identity, response: { ...run(args) } } })
          }
        })
      },
      async parse(prompt) {
        const format = { responseMimeType: 'application/json', responseJsonSchema: answerSchema }
        return JSON.parse((await models.generateContent({ model, contents: prompt, config: format })).text ?? '')
      },
      readStatus: error => (error instanceof ErrorClass ? error.status : undefined)
    }
  })
}

/** The text without the warning that the accessor of the SDK prints beside calls. */
function readText(chunk: GenerateContentResponse): string {
  return (chunk.candidates?.[0]?.content?.parts ?? []).map(part => part.text ?? '').join('')
}

export function createGenerativeAiAdapter({ url, version, model: id }: Origin): Adapter {
  // This SDK takes a name with a slash for a path of its own, unless it begins so.
  const model = id.includes('/') ? `models/${id}` : id
  const client = new GoogleGenerativeAI('unused')
  const options = { baseUrl: `${url}/${version}` }
  const declaration = { name: weather.name, description: weather.description, parameters: writeSchema(weather.schema) }
  const plain = client.getGenerativeModel({ model }, options)
  const bound = client.getGenerativeModel({ model, tools: [{ functionDeclarations: [declaration as never] }] }, options)
  return {
    name: '@google/generative-ai 0.24',
    async ask(prompt) {
      return (await plain.generateContent(prompt)).response.text()
    },
    async *stream(prompt) {
      const { stream, response } = await bound.generateContentStream(prompt)
      // The SDK rejects both; the loop below raises the same error.
      response.catch(() => undefined)
      for await (const chunk of stream) if (chunk.text() !== '') yield chunk.text()
    },
    loop(prompt, { isStream, run }) {
      const contents: OldContent[] = [{ role: 'user', parts: [{ text: prompt }] }]
      let results: OldContent['parts'] = []
      return runLoop({
        async ask() {
          if (results.length > 0) contents.push({ role: 'user', parts: results })
          results = []
          // The aggregated response of a stream is not used: it repeats the last of several calls in one chunk.
          const responses: EnhancedGenerateContentResponse[] = []
          if (isStream)
            for await (const chunk of (await bound.generateContentStream({ contents })).stream) responses.push(chunk)
          else responses.push((await bound.generateContent({ contents })).response)
          const parts = responses.flatMap(({ candidates }) => candidates?.[0]?.content.parts ?? [])
          contents.push({ role: 'model', parts })
          const calls = responses.flatMap(response => response.functionCalls() ?? [])
          return { text: responses.map(response => response.text()).join(''), calls }
        },
        addResult({ name, args }) {
          results.push({ functionResponse: { name, response: run(args) } })
        }
      })
    },
    async parse(prompt) {
      const responseSchema = writeSchema(answerSchema) as unknown as Schema
      const generationConfig = { responseMimeType: 'application/json', responseSchema }
      const formatted = client.getGenerativeModel({ model, generationConfig }, options)
      return JSON.parse((await formatted.generateContent(prompt)).response.text())
    },
    readStatus: error => (error instanceof GoogleGenerativeAIFetchError ? error.status : undefined)
  }
}

/** The schema dialect of this SDK has no `additionalProperties`. */
function writeSchema({ additionalProperties: _absent, ...schema }: { additionalProperties: boolean }): object {
  return schema
}
