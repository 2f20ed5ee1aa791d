// Reads requests and writes responses of embedContent and batchEmbedContents (content.md 5.5).

import {
  type Diagnostics,
  type EmbeddingPurpose,
  type EmbeddingsResult,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue
} from '../../../normalized/index.ts'
import type { EmbeddingFieldPaths, EmbeddingsClientFace, ReadContext, ReadEmbeddings } from '../../client-face.ts'
import { readDimensions } from '../../shared/embeddings.ts'
import { readExtraHeaders } from '../../shared/extra-headers.ts'
import { joinPath, keepDefined, wrongType } from '../../shared/members/field.ts'
import { Members } from '../../shared/members/members.ts'
import { sortParameters } from '../../shared/members/parameters.ts'
import { listParts } from './read-parts.ts'
import {
  type BatchEmbedContentsRequest,
  type BatchEmbedContentsResponse,
  batchEmbedContentsParameters,
  type EmbedContentRequest,
  type EmbedContentResponse,
  type EmbeddingUsage,
  embedContentParameters
} from './schema.ts'
import { foldNames, spell, toCamelCase } from './spelling.ts'

/** The request to a provider, the same for both operations. */
export interface ReadEmbedRequest {
  /** One text per content, in order; none is empty. */
  texts: string[]
  dimensions?: number
  /** Only where the client says something of a text. */
  purposes?: EmbeddingPurpose[]
  fieldPaths?: EmbeddingFieldPaths
  extraHeaders?: JsonObject
  ignored: Diagnostics
}

/** What the family shows of a provider's response. */
type ShownEmbeddings = Pick<EmbeddingsResult, 'vectors' | 'promptTokens'>

/** The protocol's limit for one batch. */
const REQUESTS_MAX = 2048

/** Reads the parsed body of embedContent. Raises `invalid_request` with the path of a member that is missing or no text. */
export function readEmbedContentRequest(body: EmbedContentRequest): ReadEmbedRequest {
  const folded = foldNames(body, embedContentParameters)
  const { ignored, additional } = sortParameters(folded, embedContentParameters)
  return {
    texts: [readText(body.content, 'content')],
    ignored: { ...ignored, ...additional },
    ...keepDefined({
      dimensions: readDimensions(folded.outputDimensionality),
      purposes: readPurposes([body], { readsDimensions: false }),
      fieldPaths: {
        dimensions: listGiven(body, '', ['outputDimensionality']),
        purposes: listGiven(body, '', PURPOSE_NAMES)
      },
      extraHeaders: readExtraHeaders(body)
    })
  }
}

/** Reads the parsed body of batchEmbedContents. Raises `invalid_request` with the path of a member that is missing or no text. */
export function readBatchEmbedContentsRequest(body: BatchEmbedContentsRequest): ReadEmbedRequest {
  const { ignored, additional } = sortParameters(
    foldNames(body, batchEmbedContentsParameters),
    batchEmbedContentsParameters
  )
  const { requests } = body
  if (!Array.isArray(requests)) throw wrongType('requests', 'an array', requests)
  if (requests.length === 0) throw invalidRequest('requests', `'requests' must hold at least one request.`)
  if (requests.length > REQUESTS_MAX) {
    throw invalidRequest('requests', `'requests' must hold at most ${REQUESTS_MAX} requests.`)
  }
  const texts = requests.map((request, index) => {
    const path = `requests[${index}]`
    if (!isJsonObject(request)) throw wrongType(path, 'an object', request)
    return readText(request.content, `${path}.content`)
  })
  const dimensions = readCommonDimensions(requests)
  const list = (names: readonly string[]) =>
    requests.flatMap((request, index) => listGiven(request as JsonObject, `requests[${index}]`, names))
  const lengths = list(['outputDimensionality'])
  const purposes = list(PURPOSE_NAMES)
  return {
    texts,
    ignored: { ...ignored, ...additional },
    ...keepDefined({
      dimensions,
      purposes: readPurposes(requests, { readsDimensions: dimensions === undefined }),
      // Lengths that differ are sent with each text.
      fieldPaths:
        dimensions === undefined ? { purposes: [...purposes, ...lengths] } : { dimensions: lengths, purposes },
      extraHeaders: readExtraHeaders(body)
    })
  }
}

const PURPOSE_NAMES = ['taskType', 'title']

/** The paths of the members that one request has, in the client's spelling. */
function listGiven(request: JsonObject, path: string, names: readonly string[]): string[] {
  return names
    .map(name => spell(request, name))
    .filter(name => (request[name] ?? null) !== null && request[name] !== '')
    .map(name => joinPath(path, name))
}

/** Each request of a batch has its own member; most wires take one for all, so it is one where they agree. */
function readCommonDimensions(requests: readonly JsonValue[]): number | undefined {
  const lengths = new Set(requests.map(request => (isJsonObject(request) ? readLength(request) : undefined)))
  const [length] = lengths
  return lengths.size === 1 ? length : undefined
}

function readLength(request: JsonObject): number | undefined {
  return readDimensions(request[spell(request, 'outputDimensionality')])
}

/** What the requests say of their texts, one entry each; undefined when none says anything. Values of another type have no effect. */
function readPurposes(
  requests: readonly JsonValue[],
  { readsDimensions }: { readsDimensions: boolean }
): EmbeddingPurpose[] | undefined {
  const purposes = requests.map(request => (isJsonObject(request) ? readPurpose(request, readsDimensions) : {}))
  return purposes.some(purpose => Object.keys(purpose).length > 0) ? purposes : undefined
}

function readPurpose(request: JsonObject, readsDimensions: boolean): EmbeddingPurpose {
  return keepDefined({
    taskType: findText(request, 'taskType'),
    title: findText(request, 'title'),
    dimensions: readsDimensions ? readLength(request) : undefined
  })
}

function findText(request: JsonObject, name: string): string | undefined {
  const text = request[spell(request, name)]
  return typeof text === 'string' && text !== '' ? text : undefined
}

export function writeEmbedContentResponse(result: ShownEmbeddings): EmbedContentResponse {
  return { embedding: { values: result.vectors[0] ?? [] }, ...writeEmbeddingUsage(result) }
}

export function writeBatchEmbedContentsResponse(result: ShownEmbeddings): BatchEmbedContentsResponse {
  return { embeddings: result.vectors.map(values => ({ values })), ...writeEmbeddingUsage(result) }
}

export const embedContentFace: EmbeddingsClientFace = {
  members: new Members(embedContentParameters, { fold: toCamelCase }),
  read: (body, context) => toReadEmbeddings(readEmbedContentRequest(body), context),
  writeResponse: writeEmbedContentResponse
}

const batchMembers = new Members(
  {
    ...batchEmbedContentsParameters,
    ...Object.fromEntries(Object.entries(embedContentParameters).map(([name, row]) => [`requests[].${name}`, row]))
  },
  { fold: toCamelCase }
)

export const batchEmbedContentsFace: EmbeddingsClientFace = {
  members: batchMembers,
  read: (body, context) => toReadEmbeddings(readBatchEmbedContentsRequest(body), context),
  writeResponse: writeBatchEmbedContentsResponse
}

/** The URL names the model, and vectors are always lists of numbers. */
function toReadEmbeddings(
  { texts, dimensions, purposes, fieldPaths, extraHeaders }: ReadEmbedRequest,
  { path }: ReadContext
): ReadEmbeddings {
  const input = { type: 'texts' as const, texts }
  return { input, model: path?.model, encoding: 'float', dimensions, purposes, fieldPaths, extraHeaders }
}

/** Reads the texts of one content and joins them. */
function readText(content: JsonValue | undefined, path: string): string {
  if (typeof content === 'string' && content !== '') return content
  if (content === '') throw invalidRequest(path, `'${path}' must not be empty.`)
  if (!isJsonObject(content)) throw wrongType(path, 'an object', content)
  const texts = listParts(content, path).map(({ part, path: at }) => {
    if (typeof part.text !== 'string') throw wrongType(`${at}.text`, 'a string', part.text)
    return part.text
  })
  const text = texts.join('')
  if (text === '') throw invalidRequest(`${path}.parts`, `'${path}.parts' must hold a text.`)
  return text
}

function writeEmbeddingUsage({ promptTokens }: ShownEmbeddings): { usageMetadata?: EmbeddingUsage } {
  return promptTokens === null
    ? {}
    : { usageMetadata: { promptTokenCount: promptTokens, totalTokenCount: promptTokens } }
}
