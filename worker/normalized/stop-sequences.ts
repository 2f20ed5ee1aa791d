// Applies stop strings to visible text for providers without stop strings: the response is cut before the first complete match.
// Text that may be the beginning of a match is held back, so a stop string that is split over events is never shown, and the place
// of the split does not change the result.

import type { CitationEvent, FinishEvent, HostedToolEndEvent, NormalizedEvent } from './event.ts'
import type { ProviderState } from './state.ts'
import { StopMatcher } from './stop-matcher.ts'
import { TextQueue } from './text-queue.ts'

export interface StopSequenceFilter {
  /** The events to pass on. */
  push(events: readonly NormalizedEvent[]): NormalizedEvent[]
  /** The stop string that matched: no content follows, so the provider's call can be aborted. */
  readonly match: string | undefined
  /** Ends a response that was cut and whose provider call was aborted before its own end. */
  finish(): NormalizedEvent[]
}

/** @param stops non-empty strings, at least one. */
export function createStopSequenceFilter(stops: readonly string[]): StopSequenceFilter {
  const matcher = new StopMatcher(stops)
  /** The text that could be the beginning of a match. */
  const held = new TextQueue()
  let passedLength = 0
  let isTextOpen = false
  let isFinished = false
  const openHostedTools = new Set<number>()
  /** Citations into text that is still held back. */
  let waiting: CitationEvent[] = []
  /** Where the text has to end for the first of them. */
  let nextCitationEnd = Number.POSITIVE_INFINITY

  function pass(text: string, into: NormalizedEvent[]): void {
    if (text === '') return
    if (!isTextOpen) {
      isTextOpen = true
      passedLength = 0
      into.push({ type: 'text-start' })
    }
    passedLength += text.length
    into.push({ type: 'text-delta', text })
  }

  function passCitations(into: NormalizedEvent[]): void {
    if (!isTextOpen || passedLength < nextCitationEnd) return
    const all = waiting
    waiting = []
    nextCitationEnd = Number.POSITIVE_INFINITY
    for (const event of all) {
      if (event.citation.endIndex <= passedLength) into.push(event)
      else wait(event)
    }
  }

  function wait(event: CitationEvent): void {
    waiting.push(event)
    nextCitationEnd = Math.min(nextCitationEnd, event.citation.endIndex)
  }

  function closeText(into: NormalizedEvent[], state?: ProviderState): void {
    // State may stand on a text without a visible character.
    if (!isTextOpen && state !== undefined) into.push({ type: 'text-start' })
    if (state !== undefined) into.push({ type: 'text-end', state })
    else if (isTextOpen) into.push({ type: 'text-end' })
    isTextOpen = false
    waiting = []
    nextCitationEnd = Number.POSITIVE_INFINITY
  }

  function pushText(piece: string, into: NormalizedEvent[]): void {
    const found = matcher.read(piece)
    const afterEnd = found === undefined ? 0 : piece.length - found.end
    held.push(piece)
    pass(held.take(held.length - (found?.stop.length ?? matcher.possibleLength) - afterEnd), into)
    passCitations(into)
    if (found === undefined) return
    filter.match = found.stop
    closeText(into)
  }

  function pushOne(event: NormalizedEvent, into: NormalizedEvent[]): void {
    switch (event.type) {
      case 'text-start':
        return
      case 'text-delta':
        if (filter.match === undefined) pushText(event.text, into)
        return
      case 'citation':
        if (filter.match !== undefined) return
        wait(event)
        passCitations(into)
        return
      case 'text-end':
        if (filter.match !== undefined) return
        pass(held.take(held.length), into)
        matcher.reset()
        passCitations(into)
        closeText(into, event.state)
        return
      case 'start':
      case 'usage':
        into.push(event)
        return
      case 'hosted-tool-start':
        if (filter.match !== undefined) return
        openHostedTools.add(event.index)
        into.push(event)
        return
      case 'hosted-tool-end':
        if (openHostedTools.delete(event.index)) into.push(event)
        return
      case 'finish':
        end(filter.match === undefined ? event : cutFinish(event, filter.match), into)
        return
      case 'error':
        // The response was complete at the cut: a later failure does not change it.
        if (filter.match !== undefined) end(cutFinish(unknownFinish, filter.match), into)
        else into.push(event)
        return
      default:
        // Content after the cut is dropped: the client asked for the text before it only.
        if (filter.match === undefined) into.push(event)
    }
  }

  function end(event: FinishEvent, into: NormalizedEvent[]): void {
    if (isFinished) return
    isFinished = true
    for (const index of openHostedTools) into.push(completeHostedTool(index))
    openHostedTools.clear()
    into.push(event)
  }

  // Assigned, because a getter of an object that each request creates outlives the request.
  const filter = {
    match: undefined as string | undefined,
    push(events: readonly NormalizedEvent[]): NormalizedEvent[] {
      const passed: NormalizedEvent[] = []
      for (const event of events) pushOne(event, passed)
      return passed
    },
    finish(): NormalizedEvent[] {
      const passed: NormalizedEvent[] = []
      if (filter.match !== undefined) end(cutFinish(unknownFinish, filter.match), passed)
      return passed
    }
  }
  return filter
}

const unknownFinish: FinishEvent = { type: 'finish', reason: 'stop', providerReason: null, metadata: {} }

function cutFinish(event: FinishEvent, stopSequence: string): FinishEvent {
  return { ...event, reason: 'stop', stopSequence }
}

/** Ends a run that was under way at the cut: its own end never arrives, and its result is in the text already. */
function completeHostedTool(index: number): HostedToolEndEvent {
  return { type: 'hosted-tool-end', index, status: 'completed', sources: [] }
}
