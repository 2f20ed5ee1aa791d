// Checks the bytes of a content stream in both forms: the members of the SDK's types, and the rules that the SDK's chat and error
// handling depend on.

import { FinishReason } from '@google/genai'
import type {
  ContentCandidate,
  ContentResponse,
  ContentResponsePart,
  ContentTextPart
} from '../../worker/protocols/content/client/schema.ts'

export interface StreamError {
  code: number
  message: string
  status: string
}

export interface ReadStream {
  chunks: ContentResponse[]
  error: StreamError | undefined
}

/** Reads a whole stream of server-sent events. Throws an error with the first rule that the stream breaks. */
export function readEventStream(text: string): ReadStream {
  check(text.endsWith('\n\n'), 'the stream ends with a blank line')
  const frames = text.slice(0, -2).split('\n\n')
  const last = frames.at(-1) ?? ''
  const isFailed = last.startsWith('{"error":')
  if (isFailed) check(/^\{[^\n\r]+\}$/.test(last), 'an error is one line with one object and without a prefix')
  const inner = isFailed ? frames.slice(0, -1) : frames
  for (const frame of inner) check(/^data: \{[^\n\r]+\}$/.test(frame), 'a frame is one data line with one object')
  const documents = inner.map(frame => JSON.parse(frame.slice('data: '.length)))
  check(!documents.some(document => 'error' in document), 'an error is no frame')
  return readDocuments(isFailed ? [...documents, JSON.parse(last)] : documents)
}

/** Reads and checks a stream that is a JSON array. */
export function readArrayStream(text: string): ReadStream {
  check(text.startsWith('[{') && text.endsWith('}]'), 'the stream is one array')
  const documents = JSON.parse(text)
  check(
    text === `[${documents.map((document: unknown) => JSON.stringify(document)).join(',\r\n')}]`,
    'each element is on a line'
  )
  return readDocuments(documents)
}

function readDocuments(documents: Array<ContentResponse | { error: StreamError }>): ReadStream {
  const last = documents.at(-1)
  const error = last !== undefined && 'error' in last ? last.error : undefined
  const chunks = (error === undefined ? documents : documents.slice(0, -1)) as ContentResponse[]
  if (error !== undefined) checkError(error)
  else check(chunks.length > 0, 'there is a chunk')
  for (const [position, chunk] of chunks.entries()) {
    const isLast = error === undefined && position === chunks.length - 1
    checkChunk(chunk, { first: chunks[0], isLast })
  }
  return { chunks, error }
}

const CHUNK_MEMBERS = ['candidates', 'modelVersion', 'responseId']
const LAST_CHUNK_MEMBERS = [...CHUNK_MEMBERS, 'promptFeedback', 'usageMetadata']

function checkChunk(
  chunk: ContentResponse,
  { first, isLast }: { first: ContentResponse | undefined; isLast: boolean }
): void {
  check(!('error' in chunk), 'an error is the last element')
  const members = isLast ? LAST_CHUNK_MEMBERS : CHUNK_MEMBERS
  check(
    Object.keys(chunk).every(name => members.includes(name)),
    'usage and feedback are on the last chunk'
  )
  check(
    chunk.responseId === first?.responseId && chunk.modelVersion === first?.modelVersion,
    'ids are the same in every chunk'
  )
  check(!hasNull(chunk.candidates.map(({ content, ...rest }) => [rest, content.role])), 'no member of a chunk is null')
  check(chunk.candidates.length === 1, 'there is one candidate')
  checkCandidate(chunk.candidates[0], isLast)
  for (const count of Object.values(chunk.usageMetadata ?? {}))
    check(Number.isInteger(count) && count >= 0, 'a count is a number')
}

function checkCandidate(candidate: ContentCandidate, isLast: boolean): void {
  check(candidate.index === 0, 'the candidate has index 0')
  check(!('safetyRatings' in candidate), 'ratings are in whole responses only')
  check(isLast || !('groundingMetadata' in candidate), 'sources are on the last chunk')
  const { role, parts } = candidate.content
  check(role === 'model', 'the role is model')
  check(parts.length > 0, 'a content without parts is invalid for the SDK')
  for (const part of parts) checkPart(part, isLast)
  if (!isLast) {
    check(!('finishReason' in candidate), 'only the last chunk has a reason')
    return
  }
  check(candidate.finishReason !== undefined && candidate.finishReason in FinishReason, 'the SDK knows the reason')
  check((candidate.finishReason as string) !== 'CONTINUATION', 'the reason does not make the SDK repeat the request')
}

const PART_KINDS = ['text', 'functionCall', 'inlineData', 'fileData']

function checkPart(part: ContentResponsePart, isLast: boolean): void {
  const kinds = Object.keys(part).filter(name => PART_KINDS.includes(name))
  check(kinds.length === 1, 'a part is of one kind')
  if ('text' in part) {
    check(typeof part.text === 'string', 'a text is a string')
    check(part.text !== '' || isLast || part.thoughtSignature !== undefined, 'only the last text is empty')
    check(part.thought === undefined || part.thought === true, 'a thought is marked as one')
  }
  if ('functionCall' in part) {
    const { id, name, args } = part.functionCall
    check(typeof id === 'string' && id !== '' && typeof name === 'string' && name !== '', 'a call has an id and a name')
    check(typeof args === 'object' && args !== null && !Array.isArray(args), 'arguments are an object')
  }
}

function checkError(error: StreamError): void {
  check(Number.isInteger(error.code) && error.code >= 400 && error.code < 600, 'the SDK throws only on a numeric code')
  check(typeof error.message === 'string' && typeof error.status === 'string', 'an error has a message and a status')
}

function hasNull(value: unknown): boolean {
  if (value === null) return true
  return typeof value === 'object' && Object.values(value).some(hasNull)
}

/** The parts for a client that joins the texts and thoughts of the chunks; they equal those of the whole response. */
export function joinParts(chunks: readonly ContentResponse[]): ContentResponsePart[] {
  const joined: ContentResponsePart[] = []
  for (const part of chunks.flatMap(chunk => chunk.candidates[0].content.parts)) {
    const last = joined.at(-1)
    if ('text' in part && isContinued(last, part)) Object.assign(last, { ...part, text: last.text + part.text })
    else if (!('text' in part) || part.text !== '' || part.thoughtSignature !== undefined) joined.push({ ...part })
  }
  return joined.length === 0 ? [{ text: '' }] : joined
}

function isContinued(last: ContentResponsePart | undefined, part: ContentTextPart): last is ContentTextPart {
  if (last === undefined || !('text' in last)) return false
  return part.thought === last.thought && last.thoughtSignature === undefined
}

function check(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`Broken: ${rule}.`)
}
