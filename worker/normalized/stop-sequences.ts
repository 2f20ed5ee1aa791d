// Applies stop strings to visible text for providers that know none: the answer is cut before the earliest match. Text that
// may be the beginning of a match is held back, so a string that is split over events is never shown.

import type { FinishEvent, NormalizedEvent } from './event.ts'

export interface StopSequenceFilter {
  /** The events to pass on. */
  push(events: readonly NormalizedEvent[]): NormalizedEvent[]
  /** The stop string that was met: from now on no content comes, and the provider's work is of no more use. */
  readonly match: string | undefined
  /** Ends an answer that was cut and whose provider was stopped before its own end. */
  finish(): NormalizedEvent[]
}

/** @param stops non-empty strings, at least one. */
export function createStopSequenceFilter(stops: readonly string[]): StopSequenceFilter {
  let held = ''
  let isTextOpen = false
  let match: string | undefined
  let isFinished = false

  function pass(text: string, into: NormalizedEvent[]): void {
    if (text === '') return
    if (!isTextOpen) {
      isTextOpen = true
      into.push({ type: 'text-start' })
    }
    into.push({ type: 'text-delta', text })
  }

  function closeText(into: NormalizedEvent[]): void {
    if (isTextOpen) into.push({ type: 'text-end' })
    isTextOpen = false
  }

  function pushText(piece: string, into: NormalizedEvent[]): void {
    const text = held + piece
    const found = findEarliest(text, stops)
    if (found !== undefined) {
      match = found.stop
      held = ''
      pass(text.slice(0, found.index), into)
      closeText(into)
      return
    }
    const keep = countPossiblePrefix(text, stops)
    held = text.slice(text.length - keep)
    pass(text.slice(0, text.length - keep), into)
  }

  function pushOne(event: NormalizedEvent, into: NormalizedEvent[]): void {
    switch (event.type) {
      case 'text-start':
        return
      case 'text-delta':
        if (match === undefined) pushText(event.text, into)
        return
      case 'text-end':
        if (match !== undefined) return
        pass(held, into)
        held = ''
        closeText(into)
        return
      case 'start':
      case 'usage':
      case 'error':
        into.push(event)
        return
      case 'finish':
        isFinished = true
        into.push(match === undefined ? event : cutFinish(event, match))
        return
      default:
        // Whatever else the provider says after the cut belongs to an answer the client did not want.
        if (match === undefined) into.push(event)
    }
  }

  return {
    push(events) {
      const passed: NormalizedEvent[] = []
      for (const event of events) pushOne(event, passed)
      return passed
    },
    get match() {
      return match
    },
    finish() {
      if (isFinished || match === undefined) return []
      isFinished = true
      return [
        cutFinish(
          {
            type: 'finish',
            reason: 'stop',
            providerReason: null,
            metadata: {}
          },
          match
        )
      ]
    }
  }
}

function cutFinish(event: FinishEvent, stopSequence: string): FinishEvent {
  return { ...event, reason: 'stop', stopSequence }
}

function findEarliest(text: string, stops: readonly string[]): { index: number; stop: string } | undefined {
  let earliest: { index: number; stop: string } | undefined
  for (const stop of stops) {
    const index = text.indexOf(stop)
    if (index >= 0 && (earliest === undefined || index < earliest.index)) earliest = { index, stop }
  }
  return earliest
}

/** How many characters at the end of `text` could be the beginning of a stop string. */
function countPossiblePrefix(text: string, stops: readonly string[]): number {
  let longest = 0
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) {
        longest = length
        break
      }
    }
  }
  return longest
}
