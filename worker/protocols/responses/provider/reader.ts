// Reads whole and streamed responses of the Responses wire (bridge.md 8.9). A stream names the place of every piece by the index of its
// item; unknown events and items are skipped, because the service adds new ones at any time.

import { isJsonObject, type JsonObject, type NormalizedEvent } from '../../../normalized/index.ts'
import type { ReaderDependencies, ResponseHead, ResponseReader } from '../../provider-face.ts'
import { type Payload, parseEventObject, parseWholeObject, protocolError } from '../../shared/external-payload.ts'
import { EventReader } from '../../shared/stream/event-reader.ts'
import { EXTERNAL_FRAME_CHARACTERS_MAX } from '../../shared/stream/sse.ts'
import { takeWholeEvents } from '../../shared/stream/take-events.ts'
import { readResponseError } from './errors.ts'
import type { ResponsesCompatibleReading } from './reading.ts'
import { ResponseState } from './response-state.ts'

/** Some servers end their stream with the marker of another wire. */
const FOREIGN_END_MARKER = '[DONE]'

/** Creates the reader of one response; streams and whole responses give the same events. */
export function createReader(
  reading: ResponsesCompatibleReading,
  _head: ResponseHead,
  dependencies: ReaderDependencies
): ResponseReader {
  return new ResponsesReader(new ResponseState({ ...dependencies, reading }))
}

class ResponsesReader extends EventReader implements ResponseReader {
  readonly #state: ResponseState

  constructor(state: ResponseState) {
    super(state, EXTERNAL_FRAME_CHARACTERS_MAX)
    this.#state = state
  }

  readBody(bytes: Uint8Array): NormalizedEvent[] {
    const { payload } = parseWholeObject(bytes)
    const state = this.#state
    state.assembler.expectWhole()
    if (isJsonObject(payload.error)) throw readResponseError(payload)
    state.begin(payload)
    state.end(payload)
    return takeWholeEvents(state)
  }

  /** The events of this wire are numbered: none repeats the one before. */
  protected override readPlainText(): undefined {
    return undefined
  }

  protected override takePlainText(): void {
    // Never called: no event is learned.
  }

  protected override readEvent(data: string, name: string): undefined {
    if (data.length <= FOREIGN_END_MARKER.length && data === FOREIGN_END_MARKER) return
    const payload = parseEventObject(data)
    // Some servers leave the names of the events out, and some the type in their data.
    const type = typeof payload.type === 'string' ? payload.type : name
    if (name === 'error' || type === 'error' || (isJsonObject(payload.error) && payload.response === undefined)) {
      throw readResponseError(payload)
    }
    this.#readEvent(type, payload)
  }

  protected override endStream(): void {
    // The last event tells how the response ended; without it the stream may have been cut off.
    if (!this.#state.isOver) throw protocolError('incomplete_stream')
  }

  #readEvent(type: string, payload: JsonObject): void {
    const state = this.#state
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        state.begin(readObject(payload.response))
        return
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled': {
        const response = readObject(payload.response)
        state.begin(response)
        state.end(response)
        return
      }
      case 'response.output_item.added':
        state.startItem(readIndex(payload), readObject(payload.item))
        return
      case 'response.output_item.done':
        state.endItem(readIndex(payload), readObject(payload.item))
        return
      case 'response.output_text.delta':
        state.text(readIndex(payload), readDelta(payload))
        return
      case 'response.refusal.delta':
        state.refusal(readIndex(payload), readDelta(payload))
        return
      case 'response.reasoning_summary_text.delta':
        state.reasoning(readIndex(payload), readDelta(payload), payload.summary_index)
        return
      case 'response.reasoning_text.delta':
        state.reasoning(readIndex(payload), readDelta(payload), payload.content_index)
        return
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        state.callText(readIndex(payload), readDelta(payload))
        return
      case 'response.output_text.annotation.added':
        state.annotation(readIndex(payload), payload.annotation)
        return
      case 'response.web_search_call.searching':
      case 'response.image_generation_call.generating':
      case 'response.code_interpreter_call.interpreting':
        state.progress(readIndex(payload), type)
        return
      default:
        if (!knownEvents.has(type)) state.ignoreEvent(type)
    }
  }
}

/** Events that repeat what others say. */
const knownEvents: ReadonlySet<string> = new Set([
  'response.content_part.added',
  'response.content_part.done',
  'response.output_text.done',
  'response.refusal.done',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
  'response.reasoning_summary_text.done',
  'response.reasoning_text.done',
  'response.function_call_arguments.done',
  'response.custom_tool_call_input.done',
  'response.web_search_call.in_progress',
  'response.web_search_call.completed',
  'response.image_generation_call.in_progress',
  'response.image_generation_call.partial_image',
  'response.image_generation_call.completed',
  'response.code_interpreter_call.in_progress',
  'response.code_interpreter_call_code.delta',
  'response.code_interpreter_call_code.done',
  'response.code_interpreter_call.completed',
  'ping',
  'keepalive'
])

function readObject(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw protocolError('invalid_stream_chunk')
  return value
}

function readIndex({ output_index: index }: Payload): number {
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) throw protocolError('invalid_stream_item')
  return index
}

function readDelta({ delta }: Payload): string {
  if (delta === undefined || delta === null) return ''
  if (typeof delta !== 'string') throw protocolError('invalid_stream_delta')
  return delta
}
