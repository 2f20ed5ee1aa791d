// Writes a streamed response: the response at its start, every item as it grows, and the response at its end. Every stream has
// exactly one terminal event, and nothing follows it (responses.md 7).

import { asBuffer } from '../../../../shared/bytes.ts'
import type { ErrorEvent, FinishEvent, NormalizedEvent, NormalizedUsage } from '../../../normalized/index.ts'
import type { ResponseContext, StreamFrames, StreamWriter, WrittenPartial } from '../../client-face.ts'
import { LARGE_TEXT_CHARACTERS, LargeTexts } from '../../shared/json/large-texts.ts'
import { writeResponsesFailure } from './errors.ts'
import type { ResponsesItemEvent } from './schema.ts'
import { findRequestedThread, isStored, writeResponseId } from './stored-conversation.ts'
import {
  createOutput,
  createResponseTextWriter,
  mapStatus,
  type ResponseEnd,
  type ResponseTextWriter,
  writeStatus
} from './write-response.ts'

/** Creates the writer of one streamed response. */
export function createResponsesStreamWriter(context: ResponseContext): StreamWriter {
  return new ResponsesStream(context)
}

/** Three events repeat the request. A shorter text costs less to join than a chunk of its own. */
const LARGE_ECHO_CHARACTERS = 65_536

type TerminalEvent = FinishEvent | ErrorEvent
type TextDelta = Extract<ResponsesItemEvent, { type: 'response.output_text.delta' }>

const TEXT_DELTA_HEAD =
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":'

class ResponsesStream implements StreamWriter {
  readonly #context: ResponseContext
  readonly #output: ReturnType<typeof createOutput>
  readonly #responseText: ResponseTextWriter
  #written = ''
  /** What goes before `#written`. */
  #pieces: Array<string | Uint8Array> = []
  /** Encoded once for all responses of the stream. */
  #echoBytes: Uint8Array | undefined
  #sequenceNumber = 0
  /** The item of the last text delta, and the members that all text deltas of this item share. */
  #deltaItemId: string | undefined
  #deltaMembers = ''
  /** The id in the first event. */
  #id: string | undefined
  #metadata: Record<string, string> = {}
  #usage: NormalizedUsage | null = null
  #isEnded = false
  /** Of earlier calls of `write`. */
  #writtenCharacters = 0
  /** How many characters were written before the last item began. */
  #itemStart = 0
  #largeTexts: LargeTexts | undefined
  /** Events that are held back until the id of the response is known; undefined when it is known. */
  #held: NormalizedEvent[] | undefined

  constructor(context: ResponseContext) {
    this.#context = context
    this.#output = createOutput(context, { emit: event => this.#writeItemEvent(event) })
    this.#responseText = createResponseTextWriter(context, value => this.#stringifyResponse(value))
    if (context.needsFinalId === true && mayGetThreadLate(context)) this.#held = []
  }

  write(events: readonly NormalizedEvent[]): StreamFrames {
    if (this.#isEnded) return ''
    const released = this.#held === undefined ? events : this.#release(events)
    for (const event of released) {
      if (this.#isEnded) break
      this.#writeEvent(event, released)
    }
    const written = this.#written
    const pieces = this.#pieces
    this.#writtenCharacters += written.length
    this.#written = ''
    if (pieces.length === 0) return written
    this.#pieces = []
    return [...pieces, written]
  }

  /** Takes from the frames of a provider of this wire what an error behind them continues: the id and the number of its event. */
  pass(frames: Uint8Array, events: readonly NormalizedEvent[]): Uint8Array {
    for (const event of events) {
      if (event.type === 'start') this.#id ??= writeResponseId(this.#context.request, event.identity?.id)
      if (event.type === 'finish') this.#isEnded = true
    }
    this.#sequenceNumber = findLastNumber(frames) ?? this.#sequenceNumber
    return frames
  }

  /** The response as it would be if it ended now without its end: its items so far, the open one incomplete (memory.md 2). */
  writePartial(): WrittenPartial {
    const text = this.#responseText.write({
      id: this.#id ?? writeResponseId(this.#context.request, undefined),
      output: this.#output.listPartial(),
      metadata: this.#metadata,
      usage: this.#usage,
      end: { type: 'finish', reason: 'cancelled' }
    })
    const { echoText } = this.#responseText
    const response = echoText === undefined ? text : `${text},${echoText}}`
    return { response, sequenceNumber: this.#sequenceNumber }
  }

  /** Holds events back until one of them has the id of the response, or ends the response. */
  #release(events: readonly NormalizedEvent[]): readonly NormalizedEvent[] {
    const held = this.#held ?? []
    for (const event of events) held.push(event)
    if (findThread(events) === undefined && !events.some(isTerminal)) return []
    this.#held = undefined
    return held
  }

  #writeEvent(event: NormalizedEvent, known: readonly NormalizedEvent[]): void {
    // Every stream begins with these frames, also when it fails before a start event.
    if (this.#id === undefined) this.#begin(event.type === 'start' ? event.metadata : {}, findThread(known))
    switch (event.type) {
      case 'start':
        return
      case 'usage':
        this.#usage = event.usage
        return
      case 'finish':
        this.#metadata = { ...this.#metadata, ...event.metadata }
        this.#output.finish(mapStatus(event.reason), event.state)
        this.#end({ type: 'finish', reason: event.reason }, this.#chooseFinalId(event))
        return
      case 'error':
        this.#output.fail()
        this.#end({ type: 'failure', failure: writeResponsesFailure(event.error) }, this.#id)
        return
      default:
        this.#output.push(event)
    }
  }

  #begin(metadata: Record<string, string>, threadId: string | undefined): void {
    this.#id = writeResponseId(this.#context.request, threadId)
    this.#metadata = metadata
    const text = this.#responseText.write({ id: this.#id, output: [], metadata, usage: null, end: undefined })
    this.#writeResponse('response.created', text)
    this.#writeResponse('response.in_progress', text)
  }

  /** A thread id that arrives only at the end becomes the final id, because the next request needs it (responses.md 7.1). */
  #chooseFinalId(event: FinishEvent): string | undefined {
    const threadId = findThread([event])
    const mayChange = threadId !== undefined && this.#context.needsFinalId !== true
    return mayChange ? writeResponseId(this.#context.request, threadId) : this.#id
  }

  #end(end: ResponseEnd, id: string | undefined): void {
    const text = this.#responseText.write({
      id: id ?? writeResponseId(this.#context.request, undefined),
      output: this.#output.items,
      metadata: this.#metadata,
      usage: this.#usage,
      end
    })
    this.#writeResponse(`response.${writeStatus(end)}`, text)
    this.#isEnded = true
  }

  /** @param text of `ResponseTextWriter.write`. */
  #writeResponse(type: string, text: string): void {
    const { echoText } = this.#responseText
    this.#written += `${this.#startFrame(type)}"response":${text}`
    if (echoText !== undefined) {
      this.#written += ','
      this.#writeEcho(echoText)
      this.#written += '}'
    }
    this.#written += '}\n\n'
  }

  #writeEcho(text: string): void {
    if (text.length < LARGE_ECHO_CHARACTERS) {
      this.#written += text
      return
    }
    this.#echoBytes ??= Buffer.from(text)
    this.#pieces.push(this.#written, this.#echoBytes)
    this.#written = ''
  }

  #writeItemEvent(event: ResponsesItemEvent): void {
    switch (event.type) {
      case 'response.output_text.delta':
        this.#writeTextDelta(event)
        return
      case 'response.output_item.added':
        this.#itemStart = this.#countCharacters()
    }
    // The type is the first member of every event.
    const members = this.#stringifyItemEvent(event).slice(`{"type":"${event.type}",`.length, -1)
    this.#writeFrame(event.type, members)
  }

  #countCharacters(): number {
    return this.#writtenCharacters + this.#written.length
  }

  /** Looking for large texts costs several times as much as writing small ones. The pieces of a large one have been written before. */
  #stringifyItemEvent(event: ResponsesItemEvent): string {
    if (this.#countCharacters() - this.#itemStart < LARGE_TEXT_CHARACTERS) return JSON.stringify(event)
    this.#largeTexts ??= new LargeTexts(this.#context.requestId)
    return this.#largeTexts.stringify(event)
  }

  /** The events of the items have written the texts of a response before. */
  #stringifyResponse(response: object): string {
    return this.#largeTexts?.hasTexts === true ? this.#largeTexts.stringify(response) : JSON.stringify(response)
  }

  /**
   * Most events of a stream are text deltas, which differ only in their number and their text. Only the text is escaped: the item
   * id is derived from the request id.
   */
  #writeTextDelta({ item_id, output_index, delta }: TextDelta): void {
    if (item_id !== this.#deltaItemId) {
      this.#deltaItemId = item_id
      this.#deltaMembers = `,"item_id":"${item_id}","output_index":${output_index},"content_index":0,"delta":`
    }
    const text = JSON.stringify(delta)
    this.#written += `${TEXT_DELTA_HEAD}${this.#sequenceNumber++}${this.#deltaMembers}${text},"logprobs":[]}\n\n`
  }

  /** @param members JSON of the event's members without its type and number, and without the braces. */
  #writeFrame(type: string, members: string): void {
    this.#written += `${this.#startFrame(type)}${members}}\n\n`
  }

  /** An event up to its own members. */
  #startFrame(type: string): string {
    return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequenceNumber++},`
  }
}

const NUMBER_MEMBER = Buffer.from('"sequence_number":')
const NUMBER_DIGITS_MAX = 16

/** The number behind that of the last event; undefined for frames without one. In a text the quotes of the name are escaped. */
function findLastNumber(frames: Uint8Array): number | undefined {
  const buffer = asBuffer(frames)
  const at = buffer.lastIndexOf(NUMBER_MEMBER)
  if (at < 0) return undefined
  const start = at + NUMBER_MEMBER.length
  const number = Number.parseInt(buffer.toString('latin1', start, start + NUMBER_DIGITS_MAX), 10)
  return Number.isSafeInteger(number) ? number + 1 : undefined
}

/** True for a new stored conversation: its id is not in the request, and may arrive after the start. */
function mayGetThreadLate({ request }: ResponseContext): boolean {
  return request.turn === undefined && isStored(request) && findRequestedThread(request) === undefined
}

/** The thread id of the first event that has one. */
function findThread(events: readonly NormalizedEvent[]): string | undefined {
  for (const event of events) {
    if (event.type !== 'start' && event.type !== 'finish') continue
    if (event.conversationId !== undefined) return event.conversationId
  }
  return undefined
}

function isTerminal(event: NormalizedEvent): event is TerminalEvent {
  return event.type === 'finish' || event.type === 'error'
}
