// The models, token counts and embeddings of the Google GenAI wire.
import { countEmbeddingTokens, embedText } from '../embeddings.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import { findPageMax } from '../model-pages.ts'
import { countTokens } from '../tokens.ts'
import { readGoogleMessage } from './definitions.ts'
import { invalidArgument, unknownModel } from './errors.ts'
import { checkGoogleModel, readRequestTurns } from './read.ts'

const chatMethods = ['generateContent', 'streamGenerateContent', 'countTokens']
const embeddingMethods = ['embedContent', 'batchEmbedContents']

const googleModels = [
  createModel('emulator-small', chatMethods),
  createModel('emulator-large', chatMethods),
  createModel('gemini-3-emulator', chatMethods),
  createModel('emulator-embeddings', embeddingMethods)
]

function createModel(id: string, supportedGenerationMethods: string[]) {
  return {
    name: `models/${id}`,
    version: '001',
    displayName: id,
    description: 'A model of the embedded upstream.',
    inputTokenLimit: 32_768,
    outputTokenLimit: 4096,
    supportedGenerationMethods
  }
}

const PAGE_SIZE = 50
const PAGE_SIZE_MAX = 1000

/** The response body of `GET /google/v1beta/models`. Throws GoogleError 400 for a page that does not exist. */
export function listGoogleModels(query: URLSearchParams, path: string): unknown {
  const size = Math.min(Number(query.get('pageSize') ?? 0) || PAGE_SIZE, PAGE_SIZE_MAX, findPageMax(path))
  const start = Number(query.get('pageToken') ?? 0)
  if (!Number.isInteger(start) || start < 0 || start > googleModels.length || !Number.isInteger(size) || size < 1)
    throw invalidArgument('The page token is invalid.')
  const end = start + size
  const models = googleModels.slice(start, end)
  return { models, ...(end < googleModels.length ? { nextPageToken: String(end) } : {}) }
}

/** The response body of `GET /google/v1beta/models/{id}`. Throws GoogleError 404. */
export function findGoogleModel(id: string): unknown {
  const model = googleModels.find(entry => entry.name === `models/${id}`)
  if (model === undefined) throw unknownModel(id, 'getModel')
  return model
}

/**
 * The response body of `:countTokens`: the tokens of the contents, or of a whole request with its instructions and tools.
 * @throws GoogleError 400 or 404.
 */
export function countGoogleTokens(body: unknown, model: string): unknown {
  checkGoogleModel(model, 'countTokens')
  const message = readGoogleMessage('countTokensRequest', body)
  const inner = message.generateContentRequest
  if (inner !== undefined && message.contents !== undefined)
    throw invalidArgument('contents and generate_content_request are mutually exclusive.')
  if (isJsonObject(inner) && inner.model !== `models/${model}`)
    throw invalidArgument(
      `* CountTokensRequest.generate_content_request.model: ${String(inner.model ?? '')} is not the model of the path\n`
    )
  const request: JsonObject = isJsonObject(inner) ? inner : message
  const tools = request.tools === undefined ? 0 : countTokens(JSON.stringify(request.tools))
  const texts = readRequestTurns(request, model).map(({ text }) => countTokens(text))
  const totalTokens = texts.reduce((sum, tokens) => sum + tokens, tools)
  return { totalTokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: totalTokens }] }
}

const VECTOR_LENGTH = 3072
const BATCH_MAX = 100

/** The response body of `:embedContent`. Throws GoogleError 400 or 404. */
export function embedGoogleContent(body: unknown, model: string): unknown {
  checkGoogleModel(model, 'embedContent')
  const request = readGoogleMessage('embedContentRequest', body)
  const { values, tokens } = embed({ model: `models/${model}`, ...request }, { model, at: 'EmbedContentRequest' })
  return { embedding: { values }, ...writeUsage(model, tokens) }
}

/** The response body of `:batchEmbedContents`: one vector for each request, in order. Throws GoogleError 400 or 404. */
export function embedGoogleContents(body: unknown, model: string): unknown {
  checkGoogleModel(model, 'batchEmbedContents')
  const { requests } = readGoogleMessage('batchEmbedContentsRequest', body)
  if (!Array.isArray(requests) || requests.length === 0)
    throw invalidArgument('* BatchEmbedContentsRequest.requests: must not be empty\n')
  if (requests.length > BATCH_MAX)
    throw invalidArgument(`* BatchEmbedContentsRequest.requests: at most ${BATCH_MAX} requests can be in one batch\n`)
  const results = requests.map((request, index) =>
    embed(request, { model, at: `BatchEmbedContentsRequest.requests[${index}]` })
  )
  const tokens = results.reduce((sum, one) => sum + one.tokens, 0)
  return { embeddings: results.map(({ values }) => ({ values })), ...writeUsage(model, tokens) }
}

/** Only the newest models of embeddings report what they counted. */
function writeUsage(model: string, tokens: number): Record<string, unknown> {
  if (!model.startsWith('gemini-embedding-2')) return {}
  return { usageMetadata: { promptTokenCount: tokens, totalTokenCount: tokens } }
}

function embed(request: JsonValue, { model, at }: { model: string; at: string }): { values: number[]; tokens: number } {
  const { model: named, content, outputDimensionality, taskType, title } = isJsonObject(request) ? request : {}
  if (named !== `models/${model}`)
    throw invalidArgument(`* ${at}.model: ${String(named ?? '')} is not the model of the path\n`)
  if (title !== undefined && taskType !== 'RETRIEVAL_DOCUMENT')
    throw invalidArgument(`* ${at}.title: only for the task type RETRIEVAL_DOCUMENT\n`)
  const length = outputDimensionality ?? VECTOR_LENGTH
  if (typeof length !== 'number' || length < 1 || length > VECTOR_LENGTH)
    throw invalidArgument(`* ${at}.output_dimensionality: must be between 1 and ${VECTOR_LENGTH}\n`)
  const parts = isJsonObject(content) && Array.isArray(content.parts) ? content.parts : []
  if (parts.length === 0) throw invalidArgument(`* ${at}.content: content is empty\n`)
  const text = parts
    .map(part => {
      if (!isJsonObject(part) || typeof part.text !== 'string')
        throw invalidArgument(`* ${at}.content: only texts are supported\n`)
      return part.text
    })
    .join('')
  if (text === '') throw invalidArgument(`* ${at}.content: content is empty\n`)
  return { values: embedText(text, length), tokens: countEmbeddingTokens(text) }
}
