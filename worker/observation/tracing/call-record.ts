// What is kept of one request for its span: what it asks for, what its response holds, and the milestones of its stream. Everything is
// bounded, however long the response is.
import {
  type FinishReason,
  flattenToolName,
  type NormalizedEvent,
  type NormalizedUsage,
  type ToolCallStartEvent
} from '../../normalized/index.ts'
import type { UpstreamCallReport } from '../../providers/types.ts'
import type { CallDescription, PlannedFacts } from '../observer.ts'
import { AttributeText } from './attribute-text.ts'
import type { CaptureSwitches } from './capture-switches.ts'

/** The most events of one kind in a span; further ones are counted in its attributes only. */
const TOOL_EVENTS_MAX = 32
const REASONING_EVENTS_MAX = 16
/** The most calls of a response that a span names. */
const CALLS_MAX = 128
const NAME_CHARACTERS_MAX = 256

/** A milestone of a response. Its attributes are filtered when the span is written. */
export interface Milestone {
  readonly name: string
  /** As in `RequestView.startedAtMs`. */
  readonly atMs: number
  readonly attributes: Readonly<Record<string, unknown>>
}

/** A tool call of the response, of the client's tools or of those that the provider runs itself. */
export interface RecordedCall {
  readonly index: number
  readonly name: string
  /** Only of the client's tools. */
  readonly id?: string
  readonly source: 'response.message' | 'metadata.upstream_called_tools'
  status: 'started' | 'completed' | 'failed'
  /** Only where they are captured. */
  arguments?: AttributeText
}

export interface ResponseRecord {
  /** How many events have come. */
  eventCount: number
  hasFirstToken: boolean
  providerModel: string | undefined
  identityId: string | undefined
  /** The provider's stored conversation. */
  conversationId: string | undefined
  metadata: Readonly<Record<string, string>>
  finishReason: FinishReason | undefined
  /** The text of the response, where it is captured. */
  text: AttributeText | undefined
  reasoning: AttributeText | undefined
  /** Some text, reasoning, refusal, file or call has come. */
  hasOutput: boolean
  callCount: number
  readonly calls: RecordedCall[]
}

export class CallRecord {
  description: CallDescription | undefined
  planned: PlannedFacts | undefined
  usage: NormalizedUsage | undefined
  /** The last exchange with the provider. */
  upstreamCall: UpstreamCallReport | undefined
  readonly response: ResponseRecord
  readonly milestones: Milestone[] = []

  readonly #capture: CaptureSwitches
  readonly #clientCalls: RecordedCall[] = []
  readonly #hostedRuns: RecordedCall[] = []
  #toolEvents = 0
  #reasoningEvents = 0
  #reasoningBlock: AttributeText | undefined

  constructor(capture: CaptureSwitches) {
    this.#capture = capture
    const { responses, charactersMax } = capture
    this.response = {
      eventCount: 0,
      hasFirstToken: false,
      providerModel: undefined,
      identityId: undefined,
      conversationId: undefined,
      metadata: {},
      finishReason: undefined,
      text: responses ? new AttributeText(charactersMax) : undefined,
      reasoning: responses ? new AttributeText(charactersMax) : undefined,
      hasOutput: false,
      callCount: 0,
      calls: []
    }
  }

  /** Takes the events of the response that were written at this time. */
  take(events: readonly NormalizedEvent[], atMs: number): void {
    for (const event of events) this.#take(event, atMs)
  }

  get #isStream(): boolean {
    return this.planned?.isStream === true
  }

  #take(event: NormalizedEvent, atMs: number): void {
    const { response } = this
    response.eventCount += 1
    if (response.eventCount === 1 && this.#isStream) {
      this.#mark('stream.start', atMs, { 'stream.event.type': event.type, 'stream.sequence': 0 })
    }
    switch (event.type) {
      case 'start':
        response.providerModel = event.providerModel?.slice(0, NAME_CHARACTERS_MAX)
        response.identityId = event.identity?.id?.slice(0, NAME_CHARACTERS_MAX)
        this.#noteConversation(event.conversationId)
        response.metadata = event.metadata
        return
      case 'text-delta':
      case 'refusal-delta':
        this.#takeFirstToken(event.type, event.text, atMs)
        response.text?.add(event.text)
        return
      case 'reasoning-delta':
        this.#takeFirstToken(event.type, event.text, atMs)
        response.reasoning?.add(event.text)
        this.#reasoningBlock?.add(event.text)
        return
      case 'reasoning-start':
        if (this.#capture.responses) this.#reasoningBlock = new AttributeText(this.#capture.charactersMax)
        return
      case 'reasoning-end':
        this.#endReasoning(atMs)
        return
      case 'file':
        response.hasOutput = true
        return
      case 'tool-call-start':
        this.#startCall(event, atMs)
        return
      case 'tool-call-delta':
        this.#clientCalls[event.index]?.arguments?.add(event.arguments)
        return
      case 'tool-call-end':
        this.#setStatus(this.#clientCalls[event.index], 'completed')
        return
      case 'hosted-tool-start':
        response.hasOutput = true
        this.#addCall(this.#hostedRuns, {
          index: event.index,
          name: event.name.slice(0, NAME_CHARACTERS_MAX),
          source: 'metadata.upstream_called_tools',
          status: 'started'
        })
        return
      case 'hosted-tool-end':
        this.#setStatus(this.#hostedRuns[event.index], event.status)
        return
      case 'usage':
        this.usage = event.usage
        return
      case 'finish':
        response.finishReason = event.reason
        this.#noteConversation(event.conversationId)
        response.metadata = { ...response.metadata, ...event.metadata }
        this.#finish(atMs)
        return
      case 'error':
        if (this.#isStream)
          this.#mark('stream.error', atMs, { error_code: event.error.code, 'error.message': event.error.message })
        return
    }
  }

  #noteConversation(id: string | undefined): void {
    if (id !== undefined) this.response.conversationId = id.slice(0, NAME_CHARACTERS_MAX)
  }

  #takeFirstToken(type: NormalizedEvent['type'], text: string, atMs: number): void {
    const { response } = this
    response.hasOutput = true
    if (response.hasFirstToken) return
    response.hasFirstToken = true
    if (!this.#isStream) return
    this.#mark('stream.first_token', atMs, {
      'stream.event.type': type,
      'stream.sequence': response.eventCount - 1,
      content: this.#capture.responses ? text : undefined
    })
  }

  #endReasoning(atMs: number): void {
    const block = this.#reasoningBlock
    this.#reasoningBlock = undefined
    if (block === undefined || block.isEmpty || !this.#isStream) return
    if (this.#reasoningEvents >= REASONING_EVENTS_MAX) return
    this.#reasoningEvents += 1
    this.#mark('llm.reasoning_delta', atMs, { content: block.toAttribute() })
  }

  #startCall(event: ToolCallStartEvent, atMs: number): void {
    this.response.hasOutput = true
    this.response.hasFirstToken = true
    const call: RecordedCall = {
      index: event.index,
      name: flattenToolName(event).slice(0, NAME_CHARACTERS_MAX),
      id: event.id.slice(0, NAME_CHARACTERS_MAX),
      source: 'response.message',
      status: 'started',
      ...(this.#capture.toolArguments && { arguments: new AttributeText(this.#capture.charactersMax) })
    }
    this.#addCall(this.#clientCalls, call)
    if (!this.#isStream || this.#toolEvents >= TOOL_EVENTS_MAX) return
    this.#toolEvents += 1
    this.#mark('stream.tool_call_delta', atMs, {
      'stream.event.type': 'tool-call-start',
      'stream.sequence': this.response.eventCount - 1,
      'llm.tool_call.name': call.name,
      'llm.tool_call.id': call.id,
      'llm.tool_calls.names': this.response.calls.map(({ name }) => name)
    })
  }

  #addCall(places: RecordedCall[], call: RecordedCall): void {
    this.response.callCount += 1
    if (this.response.calls.length >= CALLS_MAX) return
    places[call.index] = call
    this.response.calls.push(call)
  }

  #setStatus(call: RecordedCall | undefined, status: RecordedCall['status']): void {
    if (call !== undefined) call.status = status
  }

  #finish(atMs: number): void {
    for (const call of this.response.calls.slice(0, TOOL_EVENTS_MAX)) {
      this.#mark('llm.tool_call', atMs, {
        'llm.tool_call.index': call.index,
        'llm.tool_call.name': call.name,
        'llm.tool_call.id': call.id,
        'llm.tool_call.status': call.status,
        'llm.tool_call.source': call.source,
        'llm.tool_calls': call.arguments?.toAttribute()
      })
    }
    if (this.#isStream) this.#mark('stream.completed', atMs, {})
  }

  #mark(name: string, atMs: number, attributes: Readonly<Record<string, unknown>>): void {
    this.milestones.push({ name, atMs, attributes })
  }
}
