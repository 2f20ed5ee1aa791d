// A whole response: what a stream of events adds up to. Streamed and whole responses are written from the same events, so that they
// cannot differ.

import { assertNever } from './assert.ts'
import type { GeneratedFile, HostedSource, UrlCitation } from './content.ts'
import type { ContentFilter, FinishReason, HostedToolStatus, NormalizedEvent, ResponseIdentity } from './event.ts'
import type { JsonObject } from './json.ts'
import { mergeProviderState, type ProviderState } from './state.ts'
import type { HostedToolKind } from './tool.ts'
import type { NormalizedUsage } from './usage.ts'

export interface TextItem {
  type: 'text'
  text: string
  citations: UrlCitation[]
  state?: ProviderState
}
export interface ReasoningItem {
  type: 'reasoning'
  text: string
  state?: ProviderState
}
export interface RefusalItem {
  type: 'refusal'
  text: string
  state?: ProviderState
}
export interface ToolCallItem {
  type: 'tool-call'
  id: string
  name: string
  namespace?: string
  /** The arguments as JSON text. */
  arguments: string
  state?: ProviderState
}
export interface HostedToolItem {
  type: 'hosted-tool'
  kind: HostedToolKind | 'other'
  name: string
  status: HostedToolStatus
  secondsLeft?: number
  isCensored?: boolean
  sources: HostedSource[]
  query?: string
  inlineData?: JsonObject
  /** How many items the response had when the run ended: later texts could use what it found. */
  itemsAtEnd?: number
}
export interface FileItem {
  type: 'file'
  file: GeneratedFile
  state?: ProviderState
}

export type OutputItem = TextItem | ReasoningItem | RefusalItem | ToolCallItem | HostedToolItem | FileItem

export interface NormalizedResponse {
  providerModel: string | null
  identity?: ResponseIdentity
  /** In order of first appearance. */
  items: OutputItem[]
  /** null when the provider reported none. */
  usage: NormalizedUsage | null
  finish: {
    reason: FinishReason
    providerReason: string | null
    filter?: ContentFilter
    stopSequence?: string
  }
  /** The provider's stored conversation that the response belongs to. */
  conversationId?: string
  /** State of the whole message. */
  state?: ProviderState
  metadata: Record<string, string>
}

/** About how many characters the texts of a response have, for the decision where it is written. */
export function countCharacters({ items }: NormalizedResponse): number {
  let characters = 0
  for (const item of items) {
    switch (item.type) {
      case 'text':
      case 'reasoning':
      case 'refusal':
        characters += item.text.length
        break
      case 'tool-call':
        characters += item.arguments.length
        break
      case 'file':
        characters += item.file.base64?.length ?? 0
        break
      case 'hosted-tool':
        break
    }
  }
  return characters
}

/** Adds events up to a response. One per response. */
export interface ResponseAccumulator {
  /** Takes the next event. Throws the `GatewayError` of an `error` event. */
  push(event: NormalizedEvent): void
  /** The response so far; whole once `finish` was pushed. */
  response(): NormalizedResponse
}

export function createResponseAccumulator(): ResponseAccumulator {
  const response: NormalizedResponse = {
    providerModel: null,
    items: [],
    usage: null,
    finish: { reason: 'stop', providerReason: null },
    metadata: {}
  }
  const toolCalls: ToolCallItem[] = []
  const hostedTools: HostedToolItem[] = []
  let text: TextItem | undefined
  let reasoning: ReasoningItem | undefined
  let refusal: RefusalItem | undefined

  function add<Item extends OutputItem>(item: Item): Item {
    response.items.push(item)
    return item
  }

  function push(event: NormalizedEvent): void {
    switch (event.type) {
      case 'start':
        response.providerModel = event.providerModel
        if (event.identity !== undefined) response.identity = event.identity
        if (event.conversationId !== undefined) response.conversationId = event.conversationId
        Object.assign(response.metadata, event.metadata)
        return
      case 'text-start':
        text = add({ type: 'text', text: '', citations: [] })
        return
      case 'text-delta':
        if (text !== undefined) text.text += event.text
        return
      case 'citation':
        text?.citations.push(event.citation)
        return
      case 'reasoning-start':
        reasoning = add({ type: 'reasoning', text: '' })
        return
      case 'reasoning-delta':
        if (reasoning !== undefined) reasoning.text += event.text
        return
      case 'text-end':
        addState(text, event.state)
        return
      case 'reasoning-end':
        addState(reasoning, event.state)
        return
      case 'refusal-end':
        addState(refusal, event.state)
        return
      case 'tool-call-end':
        addState(toolCalls[event.index], event.state)
        return
      case 'refusal-start':
        refusal = add({ type: 'refusal', text: '' })
        return
      case 'refusal-delta':
        if (refusal !== undefined) refusal.text += event.text
        return
      case 'tool-call-start': {
        const call: ToolCallItem = {
          type: 'tool-call',
          id: event.id,
          name: event.name,
          arguments: ''
        }
        if (event.namespace !== undefined) call.namespace = event.namespace
        if (event.state !== undefined) call.state = event.state
        toolCalls[event.index] = add(call)
        return
      }
      case 'tool-call-delta': {
        const call = toolCalls[event.index]
        if (call !== undefined) call.arguments += event.arguments
        return
      }
      case 'hosted-tool-start':
        hostedTools[event.index] = add({
          type: 'hosted-tool',
          kind: event.kind,
          name: event.name,
          status: 'in-progress',
          sources: []
        })
        return
      case 'hosted-tool-progress': {
        const run = hostedTools[event.index]
        if (run === undefined) return
        run.status = event.status
        if (event.secondsLeft !== undefined) run.secondsLeft = event.secondsLeft
        if (event.isCensored !== undefined) run.isCensored = event.isCensored
        return
      }
      case 'hosted-tool-end': {
        const run = hostedTools[event.index]
        if (run === undefined) return
        run.status = event.status
        run.sources = event.sources
        run.itemsAtEnd = response.items.length
        if (event.query !== undefined) run.query = event.query
        if (event.inlineData !== undefined) run.inlineData = event.inlineData
        return
      }
      case 'file':
        addState(add<FileItem>({ type: 'file', file: event.file }), event.state)
        return
      case 'usage':
        response.usage = event.usage
        return
      case 'finish':
        response.finish = {
          reason: event.reason,
          providerReason: event.providerReason
        }
        if (event.filter !== undefined) response.finish.filter = event.filter
        if (event.stopSequence !== undefined) response.finish.stopSequence = event.stopSequence
        if (event.conversationId !== undefined) response.conversationId = event.conversationId
        addState(response, event.state)
        Object.assign(response.metadata, event.metadata)
        return
      case 'error':
        throw event.error
      default:
        assertNever(event)
    }
  }

  return { push, response: () => response }
}

function addState(holder: { state?: ProviderState } | undefined, state: ProviderState | undefined): void {
  if (holder !== undefined && state !== undefined) holder.state = mergeProviderState(holder.state, state)
}

/** The response that `events` add up to. Throws the `GatewayError` of an `error` event. */
export function accumulateEvents(events: Iterable<NormalizedEvent>): NormalizedResponse {
  const accumulator = createResponseAccumulator()
  for (const event of events) accumulator.push(event)
  return accumulator.response()
}
