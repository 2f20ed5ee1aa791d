// Translates embeddings in one pure step each way.

import { writeLongJson } from '../../shared/json.ts'
import { admitRoute } from '../bridge/admit.ts'
import { nameModel } from '../bridge/name-model.ts'
import { listWithoutEffect } from '../bridge/note-members.ts'
import { readForRoute, resolveEmbeddingsRoute } from '../bridge/resolve-route.ts'
import {
  type ClientProtocol,
  type EmbeddingsCall,
  type EmbeddingsResult,
  GatewayError,
  type JsonValue,
  unsupportedSemantic
} from '../normalized/index.ts'
import { importOnce } from '../performance/import-once.ts'
import { EMBEDDING_OPTIONS, type EmbeddingsInput } from '../protocols/client-face.ts'
import { type EmbeddingsOperation, embeddingsFaces, findProviderFace } from '../protocols/registry.ts'
import { readModelAlone } from '../protocols/shared/model.ts'
import { readBodyWithTexts, readResponseJson } from './json-body.ts'
import { loadDescriptions } from './load-descriptions.ts'
import { writeBody } from './received-texts.ts'
import { listPaths, markModel, pickMark, type Targeting } from './targeting.ts'
import type {
  EmbeddingsJob,
  EmbeddingsResponseJob,
  TaskEnvironment,
  TranslatedEmbeddings,
  WrittenEmbeddings
} from './types.ts'

const loadEstimates = importOnce(() => import('../limits/estimate-tokens.ts'))

/** The protocol of each operation, for the cell of its route. */
const PROTOCOLS: Readonly<Record<EmbeddingsOperation, ClientProtocol>> = {
  embeddings: 'completions',
  embedContent: 'content',
  batchEmbedContents: 'content'
}

/**
 * Reads the body of an embeddings request, with its token ids decoded, and writes the provider's calls. Rejects with `GatewayError` with
 * the path of the invalid field, the errors of the route, and `unsupported_semantic` for a provider without embeddings.
 */
export async function translateEmbeddings(
  job: EmbeddingsJob,
  environment: TaskEnvironment
): Promise<TranslatedEmbeddings> {
  const { settings, faces } = environment
  const { body: received, texts: receivedTexts } = readBodyWithTexts(job.bytes)
  const face = embeddingsFaces[job.operation]
  const sources = { routes: settings.routes, scope: job.scope }
  const read = readForRoute(
    () => face.read(received, job.context),
    () => resolveEmbeddingsRoute(readModelAlone(received, job.context), job.apiMode, sources)
  )
  const { input, model, requestedModel, encoding, dimensions, purposes, fieldPaths = {}, extraHeaders } = read
  const plan = resolveEmbeddingsRoute({ model, requestedModel }, job.apiMode, sources)
  admitRoute(plan, PROTOCOLS[job.operation])
  const { embeddings } = findProviderFace(faces, plan)
  if (embeddings === undefined) throw nameModel(unsupportedSemantic('model', 'no_embeddings'), plan.publicModel)
  const uncarried = EMBEDDING_OPTIONS.filter(option => embeddings.carries?.includes(option) !== true).flatMap(
    option => fieldPaths[option] ?? []
  )
  const { refusesUnsupported } = job.context
  const leftOut = listWithoutEffect({ body: received, members: face.members, uncarried }, { plan, refusesUnsupported })
  const texts = await readTexts(input, model ?? plan.upstreamModel, environment)
  const request: EmbeddingsCall = { model: plan.upstreamModel, input: texts }
  if (dimensions !== undefined) request.dimensions = dimensions
  if (purposes !== undefined) request.purposes = purposes
  const batches = splitCall(request, embeddings.inputsMax)
  const { targets } = plan
  const targeting: Targeting | undefined = targets && {
    paths: listPaths(targets, 'embeddings', ({ profileId, upstreamModel }) =>
      embeddings.write({ model: upstreamModel, input: [] }, settings.providerOptions[profileId])
    )
  }
  const calls = batches.map(batch => {
    const written = embeddings.write(batch, settings.providerOptions[plan.profileId])
    const { method, path, headers, bytes } = written
    const marked = targets === undefined ? { body: written.body } : markModel(written, targets)
    if (targeting !== undefined) Object.assign(targeting, pickMark(marked))
    return {
      plan,
      operation: 'embeddings' as const,
      method,
      path,
      headers,
      body: bytes ?? writeBody(marked.body, receivedTexts)
    }
  })
  const translated: TranslatedEmbeddings = {
    plan,
    calls,
    counts: batches.map(batch => batch.input.length),
    extraHeaders,
    leftOut,
    requestedModel: requestedModel ?? model,
    answer: { model: requestedModel ?? plan.upstreamModel, encoding }
  }
  if (targeting !== undefined) translated.targeting = targeting
  if (job.estimatesTokens === true) {
    const { estimateTexts } = await loadEstimates()
    translated.tokenEstimate = estimateTexts(texts)
  }
  if (job.description !== undefined) {
    const { describeEmbeddings } = await loadDescriptions()
    translated.description = describeEmbeddings(read, texts, { user: received.user, options: job.description })
  }
  return translated
}

/** The call in parts of at most so many texts, in order. */
function splitCall(call: EmbeddingsCall, inputsMax: number = call.input.length): EmbeddingsCall[] {
  if (call.input.length <= inputsMax) return [call]
  const parts: EmbeddingsCall[] = []
  for (let start = 0; start < call.input.length; start += inputsMax) {
    const part: EmbeddingsCall = { ...call, input: call.input.slice(start, start + inputsMax) }
    if (call.purposes !== undefined) part.purposes = call.purposes.slice(start, start + inputsMax)
    parts.push(part)
  }
  return parts
}

/** Up to here a text is written faster than bytes; 2048 vectors may be 40 MB. */
const LONG_RESPONSE_BYTES_MIN = 256 * 1024

/** Reads the provider's vectors and writes them for the client. Raises `provider_protocol_error` for a response that cannot be used. */
export function translateEmbeddingsResponse(job: EmbeddingsResponseJob, { faces }: TaskEnvironment): WrittenEmbeddings {
  const { embeddings } = findProviderFace(faces, job.plan)
  if (embeddings === undefined) throw new Error('The provider of an embeddings call has no codec for it.')
  const { bytes, counts, head } = job
  const results = listBodies(bytes, counts.length).map((body, index) =>
    embeddings.read(body, { count: counts[index] ?? 0, head })
  )
  const result = joinResults(results)
  const written = embeddingsFaces[job.operation].writeResponse(result, job.answer)
  const body =
    bytes.byteLength < LONG_RESPONSE_BYTES_MIN ? JSON.stringify(written) : writeLongJson(written, bytes.byteLength)
  return { body, promptTokens: result.promptTokens }
}

/** The body of each response. Raises `provider_protocol_error` for bytes that hold another number of them. */
function listBodies(bytes: Uint8Array, count: number): JsonValue[] {
  const body = readResponseJson(bytes)
  if (count === 1) return [body]
  if (Array.isArray(body) && body.length === count) return body
  throw new GatewayError('provider_protocol_error', { cause: 'invalid_embeddings' })
}

/** The vectors of all calls in order. The tokens are known where every call has reported them. */
function joinResults(results: readonly EmbeddingsResult[]): EmbeddingsResult {
  const [first] = results
  if (first !== undefined && results.length === 1) return first
  let promptTokens: number | null = 0
  for (const { promptTokens: tokens } of results) {
    promptTokens = promptTokens === null || tokens === null ? null : promptTokens + tokens
  }
  return { vectors: results.flatMap(({ vectors }) => vectors), promptTokens, metadata: first?.metadata ?? {} }
}

async function readTexts(input: EmbeddingsInput, model: string, environment: TaskEnvironment): Promise<string[]> {
  return input.type === 'texts' ? input.texts : environment.decodeTokens({ model, texts: input.tokens })
}
