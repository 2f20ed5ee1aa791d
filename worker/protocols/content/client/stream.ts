// Writes a streamed response: every chunk is a response with a piece of the content, and the last
// one has the finish reason (content.md 5.2, 5.3). Server-sent events and the JSON array contain
// the same chunks. A stream that fails ends with its error as a chunk of its own, after which the
// connection is destroyed: older SDKs see no error in a frame before a clean end, and take the text
// so far for the whole response (decisions.md 52).

import {
  assertNever,
  flattenToolName,
  type GeneratedFile,
  GrowingText,
  type HostedSource,
  mergeProviderState,
  type NormalizedEvent,
  type NormalizedUsage,
  type ProviderState,
  type ToolCallStartEvent,
  type UrlCitation
} from '../../../normalized/index.ts'
import type { ResponseContext, StreamWriter } from '../../client-face.ts'
import { isShownAsLine, writeFileLines } from '../../shared/media/generated-files.ts'
import { createSseParser } from '../../shared/stream/sse.ts'
import { isCut, isInput } from '../../shared/tools/cut-calls.ts'
import { writeContentError } from './errors.ts'
import { type ContentSummary, mapFinishReason, writePromptFeedback } from './finish-reason.ts'
import type { ContentResponsePart } from './schema.ts'
import { writeThoughtSignature } from './thought-signature.ts'
import {
  areThoughtsVisible,
  THOUGHT_SEPARATOR,
  unwrapString,
  wantsBareString,
  writeCall,
  writeEmptyPart,
  writeFile,
  writeGrounding,
  writeUsage
} from './write-response.ts'

/** The media type of a stream that is a JSON array. */
export const CONTENT_ARRAY_MEDIA_TYPE = 'application/json; charset=UTF-8'

/** How the body separates chunks, which are JSON texts. */
interface Framing {
  /** Stands before the first chunk. */
  first: string
  /** Stands before each further chunk. */
  next: string
  /** Stands behind each chunk. */
  after: string
  /** Stands behind the last chunk. */
  end: string
  /** Nothing stands before the error object of a failed stream. */
  hasBareError: boolean
}

/**
 * Without an end mark, which would break the SDK (field-lessons.md A17). SDKs parse a chunk that is
 * nothing but an error object before they look for frames; a prefix would hide it from them.
 */
const SERVER_SENT_EVENTS: Framing = { first: 'data: ', next: 'data: ', after: '\n\n', end: '', hasBareError: true }

/**
 * One chunk per element. An error is the last element of a complete array: a client that reads elements gets the error's words, and one that
 * reads the whole body fails with the connection.
 */
const JSON_ARRAY: Framing = { first: '[', next: ',\r\n', after: '', end: ']', hasBareError: false }

/** Creates the writer of one response as server-sent events. */
export function createContentStreamWriter(context: ResponseContext): StreamWriter<string> {
  return createChunkWriter(context, SERVER_SENT_EVENTS)
}

/** Creates the writer of one response as a JSON array. The provider's frames are server-sent events, so its `pass` writes them anew. */
export function createContentArrayWriter(context: ResponseContext): StreamWriter<string> {
  return createChunkWriter(context, JSON_ARRAY)
}

const CHUNK_START = '{"candidates":[{"index":0,"content":{"role":"model","parts":['

/** The error is a member that is assigned, because a getter of an object that each request creates outlives the request. */
type WrittenStream = { -readonly [Name in keyof StreamWriter<string>]: StreamWriter<string>[Name] }

/** Creates the writer for both forms. Nearly all chunks differ in one text only, so the JSON around it is created once. */
function createChunkWriter(context: ResponseContext, framing: Framing): StreamWriter<string> {
  const showsThoughts = areThoughtsVisible(context.request)
  const isBare = wantsBareString(context.request)
  const identity = `"modelVersion":${JSON.stringify(context.model)},"responseId":${JSON.stringify(context.requestId)}`
  const chunkEnd = `]}}],${identity}}${framing.after}`
  /** The chunk of most events: with its constant parts in one piece each it costs a tenth less. */
  const textStart = `${framing.next}${CHUNK_START}{"text":`
  const textEnd = `}${chunkEnd}`

  let isFirst = true
  let isEnded = false
  let usage: NormalizedUsage | null = null
  const content: ContentSummary = { hasContent: false, hasCall: false, hasRefusal: false }
  let hasText = false
  /** The open thought of a client that is not shown it. */
  let hiddenThought = new GrowingText()
  /** Files that a text at the end names, because SDKs show only the text of a response. */
  const listedFiles: GeneratedFile[] = []
  const citations: UrlCitation[] = []
  /** The sources of each run of a hosted tool, in the order in which the runs began, as in the whole response. */
  const sources = new Map<number, readonly HostedSource[]>()

  /** The text of the open block, when it can be shown only as a whole. */
  let heldText = new GrowingText()
  /** True when the last part is a thought without a signature. */
  let isAfterThought = false
  let thoughtLead = ''

  let openCall: ToolCallStartEvent | undefined
  let openArguments = ''
  let isBlockOpen = false
  /** Files that came inside a block: they are written after it, as in the whole response. */
  let heldParts: ContentResponsePart[] = []
  /** Whole parts of one upstream read, written as one chunk because SDKs run the calls of a chunk together. */
  let readyParts: ContentResponsePart[] = []
  /** Calls among them whose arguments are no object. While there is one, all parts wait: the finish reason tells whether it was cut off. */
  const doubtfulCalls = new Set<ContentResponsePart>()
  /** Whether the part before the first of them is a thought without a signature. */
  let followsThought = false

  /** What stands before the next chunk. */
  function startChunk(): string {
    const start = isFirst ? framing.first : framing.next
    isFirst = false
    return start
  }

  function frame(chunk: string): string {
    return startChunk() + chunk + framing.after
  }

  function writeChunk(parts: string): string {
    return startChunk() + CHUNK_START + parts + chunkEnd
  }

  function writeTextChunk(text: string): string {
    const json = JSON.stringify(text)
    return isFirst ? writeChunk(`{"text":${json}}`) : textStart + json + textEnd
  }

  function flushParts(): string {
    if (readyParts.length === 0 || doubtfulCalls.size > 0) return ''
    const written = writeChunk(readyParts.map(part => JSON.stringify(part)).join())
    readyParts = []
    return written
  }

  function writePart(part: ContentResponsePart): string {
    if (doubtfulCalls.size === 0) return flushParts() + writeChunk(JSON.stringify(part))
    readyParts.push(part)
    return ''
  }

  function endBlock(): void {
    isBlockOpen = false
    if (heldParts.length > 0) addParts(heldParts)
    heldParts = []
  }

  function addParts(parts: readonly ContentResponsePart[]): void {
    content.hasContent = true
    isAfterThought = false
    for (const part of parts) readyParts.push(part)
  }

  function writeText(text: string): string {
    if (text === '') return ''
    content.hasContent = true
    hasText = true
    isAfterThought = false
    if (doubtfulCalls.size > 0) return writePart({ text })
    return flushParts() + writeTextChunk(text)
  }

  /** Writes the held text as a bare string, once it is complete. */
  function writeHeldText(): string {
    const text = unwrapString(heldText.toString())
    heldText = new GrowingText()
    return writeText(text)
  }

  function writeThought(text: string): string {
    if (!showsThoughts) hiddenThought.add(text)
    if (!showsThoughts || text === '') return ''
    const lead = thoughtLead
    thoughtLead = ''
    isAfterThought = true
    return writePart({ text: lead + text, thought: true })
  }

  /** Writes the state that the provider expects back with the thought, and so ends the thought's part. */
  function writeThoughtState(event: Extract<NormalizedEvent, { type: 'reasoning-end' }>): string {
    thoughtLead = ''
    const signature = writeThoughtSignature({ state: event.state, hiddenText: hiddenThought.toString() })
    if (hiddenThought.length > 0) hiddenThought = new GrowingText()
    if (signature === undefined) return ''
    isAfterThought = false
    return writePart({ text: '', thought: true, thoughtSignature: signature })
  }

  /** Writes the state that the provider expects back with the text, on an empty text so that the text need not wait for it. */
  function writeTextState(state: ProviderState | undefined): string {
    const signature = writeThoughtSignature({ state })
    if (signature === undefined) return ''
    content.hasContent = true
    isAfterThought = false
    return writePart({ text: '', thoughtSignature: signature })
  }

  function endCall(lateState: ProviderState | undefined): void {
    if (openCall === undefined) return
    const { id } = openCall
    const state = lateState === undefined ? openCall.state : mergeProviderState(openCall.state, lateState)
    const call = writeCall({ id, name: flattenToolName(openCall), arguments: openArguments, state })
    openCall = undefined
    if (isInput(openArguments)) {
      addParts([call])
      content.hasCall = true
      return
    }
    if (doubtfulCalls.size === 0) followsThought = isAfterThought
    isAfterThought = false
    readyParts.push(call)
    doubtfulCalls.add(call)
  }

  /** Drops the doubtful calls of a response that was cut off, and keeps those of any other. */
  function settleDoubtfulCalls(wasCut: boolean): void {
    if (doubtfulCalls.size === 0) return
    if (wasCut) dropDoubtfulCalls()
    else content.hasCall = content.hasContent = true
    doubtfulCalls.clear()
  }

  /** Drops them, and separates the thoughts between which they stood, as a whole response does. */
  function dropDoubtfulCalls(): void {
    const kept: ContentResponsePart[] = []
    let isAfterCall = false
    for (const part of readyParts) {
      if (doubtfulCalls.has(part)) {
        isAfterCall = true
        continue
      }
      const isThought = 'thought' in part && part.thoughtSignature === undefined
      const isSeparate = isThought && isAfterCall && followsThought
      kept.push(isSeparate ? { ...part, text: THOUGHT_SEPARATOR + part.text } : part)
      followsThought = isThought
      isAfterCall = false
    }
    readyParts = kept
  }

  function writeFinish(event: Extract<NormalizedEvent, { type: 'finish' }>): string {
    isEnded = true
    settleDoubtfulCalls(isCut(event))
    const lines = writeText(writeFileLines(listedFiles, context.request, hasText))
    const finishReason = mapFinishReason(event, content)
    const grounding = writeGrounding(citations, [...sources.values()].flat())
    // The chunk needs a content with a part, because the SDK's chat drops a turn whose last chunk has none.
    const last = JSON.stringify({
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: [writeEmptyPart(event.state)] },
          finishReason,
          ...(grounding === undefined ? {} : { groundingMetadata: grounding })
        }
      ],
      ...writePromptFeedback(finishReason, content)
    })
    const counts = writeUsage(usage)
    const tail = counts === undefined ? identity : `${identity},"usageMetadata":${JSON.stringify(counts)}`
    return lines + flushParts() + frame(`${last.slice(0, -1)},${tail}}`) + framing.end
  }

  function writeError(event: Extract<NormalizedEvent, { type: 'error' }>): string {
    isEnded = true
    endBlock()
    const { body } = writeContentError(event.error, { requestId: context.requestId })
    settleDoubtfulCalls(true)
    const content = flushParts()
    const error = JSON.stringify(body)
    writer.brokenEnd = (framing.hasBareError ? error + framing.after : frame(error)) + framing.end
    return content
  }

  function writeEvent(event: NormalizedEvent): string {
    switch (event.type) {
      case 'text-delta':
        if (!isBare) return writeText(event.text)
        content.hasContent = true
        heldText.add(event.text)
        return ''
      case 'refusal-delta':
        content.hasRefusal = true
        return writeText(event.text)
      case 'reasoning-delta':
        return writeThought(event.text)
      case 'tool-call-delta':
        openArguments += event.arguments
        return ''
      case 'text-start':
      case 'refusal-start':
        isBlockOpen = true
        return ''
      case 'reasoning-start':
        isBlockOpen = true
        thoughtLead = isAfterThought ? THOUGHT_SEPARATOR : ''
        return ''
      case 'tool-call-start':
        isBlockOpen = true
        openCall = event
        openArguments = ''
        return ''
      case 'text-end': {
        const text = (isBare ? writeHeldText() : '') + writeTextState(event.state)
        endBlock()
        return text
      }
      case 'refusal-end': {
        const state = writeTextState(event.state)
        endBlock()
        return state
      }
      case 'reasoning-end': {
        const state = writeThoughtState(event)
        endBlock()
        return state
      }
      case 'tool-call-end':
        endCall(event.state)
        endBlock()
        return ''
      case 'file':
        if (isShownAsLine(event.file) && event.file.base64 === undefined) listedFiles.push(event.file)
        if (isBlockOpen) heldParts.push(writeFile(event.file, event.state))
        else addParts([writeFile(event.file, event.state)])
        return ''
      case 'citation':
        citations.push(event.citation)
        return ''
      case 'hosted-tool-end':
        sources.set(event.index, event.sources)
        return ''
      case 'usage':
        usage = event.usage
        return ''
      case 'finish':
        return writeFinish(event)
      case 'error':
        return writeError(event)
      case 'hosted-tool-start':
        sources.set(event.index, [])
        return ''
      case 'start':
      case 'hosted-tool-progress':
        return ''
      default:
        return assertNever(event)
    }
  }

  function pass(frames: Uint8Array, events: readonly NormalizedEvent[]): string {
    let written = ''
    const parser = createSseParser({
      onEvent: data => {
        written += frame(data)
      }
    })
    parser.push(frames)
    parser.end()
    if (!events.some(({ type }) => type === 'finish')) return written
    isEnded = true
    return written + framing.end
  }

  const writer: WrittenStream = {
    brokenEnd: undefined,
    write(events) {
      let written = ''
      for (const event of events) {
        if (isEnded) break
        written += writeEvent(event)
      }
      return isEnded ? written : written + flushParts()
    }
  }
  if (framing !== SERVER_SENT_EVENTS) writer.pass = pass
  return writer
}
