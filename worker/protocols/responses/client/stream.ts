// The streamed answer: the response as it begins, every item as it grows, the response as it ended. Exactly one terminal event ends
// every stream, and nothing follows it (responses.md 7).

import type { ErrorEvent, FinishEvent, NormalizedEvent, NormalizedUsage } from '../../../normalized/index.ts'
import type { ResponseContext, StreamWriter } from '../../face.ts'
import { writeResponsesFailure } from './errors.ts'
import { OutputMachine } from './output.ts'
import type { ResponsesItemEvent, ResponsesLifecycleEvent } from './schema.ts'
import { findRequestedThread, isStored, writeResponseId } from './stored-conversation.ts'
import { createResponseWriter, mapStatus, type ResponseEnd, type ResponseParts } from './write-response.ts'

/** Creates the writer of one streamed answer. */
export function createResponsesStreamWriter(context: ResponseContext): StreamWriter {
  return new ResponsesStream(context)
}

type TerminalEvent = FinishEvent | ErrorEvent
type TextDelta = Extract<ResponsesItemEvent, { type: 'response.output_text.delta' }>

const TEXT_DELTA_HEAD =
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":'

class ResponsesStream implements StreamWriter {
  readonly #context: ResponseContext
  readonly #output: OutputMachine
  readonly #writeResponse: (parts: ResponseParts) => ResponsesLifecycleEvent['response']
  #written = ''
  #sequenceNumber = 0
  /** The item that grows, and what its deltas say of it. */
  #deltaItemId: string | undefined
  #deltaPlace = ''
  /** The id that the first event announced. */
  #id: string | undefined
  #metadata: Record<string, string> = {}
  #usage: NormalizedUsage | null = null
  #isEnded = false
  /** Events that wait for the response's id to be known; undefined when nothing needs to wait. */
  #held: NormalizedEvent[] | undefined

  constructor(context: ResponseContext) {
    this.#context = context
    this.#output = new OutputMachine(context.request, event => this.#writeItemEvent(event))
    this.#writeResponse = createResponseWriter(context)
    if (context.needsFinalId === true && mayGetThreadLate(context)) this.#held = []
  }

  write(events: readonly NormalizedEvent[]): string {
    if (this.#isEnded) return ''
    const released = this.#held === undefined ? events : this.#release(events)
    for (const event of released) {
      if (this.#isEnded) break
      this.#writeEvent(event, released)
    }
    const written = this.#written
    this.#written = ''
    return written
  }

  /** Holds events back until one of them tells the id of the response, or the answer is over. */
  #release(events: readonly NormalizedEvent[]): readonly NormalizedEvent[] {
    const held = this.#held ?? []
    held.push(...events)
    if (findThread(held) === undefined && !held.some(isTerminal)) return []
    this.#held = undefined
    return held
  }

  #writeEvent(event: NormalizedEvent, known: readonly NormalizedEvent[]): void {
    // A stream cannot begin with anything else; what comes without a start is the failure of it.
    if (this.#id === undefined) this.#begin(event.type === 'start' ? event.metadata : {}, findThread(known))
    switch (event.type) {
      case 'start':
        return
      case 'usage':
        this.#usage = event.usage
        return
      case 'finish':
        this.#metadata = { ...this.#metadata, ...event.metadata }
        this.#output.finish(mapStatus(event.reason))
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
    const response = this.#writeResponse({ id: this.#id, output: [], metadata, usage: null, end: undefined })
    const text = JSON.stringify(response)
    this.#writeFrame('response.created', `"response":${text}`)
    this.#writeFrame('response.in_progress', `"response":${text}`)
  }

  /** A thread that the upstream names only now is what the next request needs (responses.md 7.1). */
  #chooseFinalId(event: FinishEvent): string | undefined {
    const threadId = findThread([event])
    const mayChange = threadId !== undefined && this.#context.needsFinalId !== true
    return mayChange ? writeResponseId(this.#context.request, threadId) : this.#id
  }

  #end(end: ResponseEnd, id: string | undefined): void {
    const response = this.#writeResponse({
      id: id ?? writeResponseId(this.#context.request, undefined),
      output: this.#output.items,
      metadata: this.#metadata,
      usage: this.#usage,
      end
    })
    this.#writeFrame(`response.${response.status}`, `"response":${JSON.stringify(response)}`)
    this.#isEnded = true
  }

  #writeItemEvent(event: ResponsesItemEvent): void {
    switch (event.type) {
      case 'response.output_text.delta':
        this.#writeTextDelta(event)
        return
      default: {
        // The type is the first member of every event.
        const members = JSON.stringify(event).slice(`{"type":"${event.type}",`.length, -1)
        this.#writeFrame(event.type, members)
      }
    }
  }

  /**
   * Nearly all events of a stream are these, and they differ in their number and their text alone. The text is all that has to be
   * escaped: an id is built on that of the request.
   */
  #writeTextDelta({ item_id, output_index, delta }: TextDelta): void {
    if (item_id !== this.#deltaItemId) {
      this.#deltaItemId = item_id
      this.#deltaPlace = `,"item_id":"${item_id}","output_index":${output_index},"content_index":0,"delta":`
    }
    const text = JSON.stringify(delta)
    this.#written += `${TEXT_DELTA_HEAD}${this.#sequenceNumber++}${this.#deltaPlace}${text},"logprobs":[]}\n\n`
  }

  /** @param members JSON of the event's members besides its type and its number, without the braces. */
  #writeFrame(type: string, members: string): void {
    this.#written += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequenceNumber++},${members}}\n\n`
  }
}

/** Only a conversation that is to be stored and continues none has an id that the request does not tell. */
function mayGetThreadLate({ request }: ResponseContext): boolean {
  return isStored(request) && findRequestedThread(request) === undefined
}

/** The thread that the first of these events to know one names. */
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
