// The message that a stream adds up to, in place of its events, with the count and the times of its
// events (operations.md 8.2; field-lessons.md L16). It is bounded, however long the stream is.
import { flattenToolName, type NormalizedEvent } from '../../normalized/index.ts'
import { BoundedText } from '../bounded-text.ts'

/** The most calls, hosted runs and files that are kept; further ones are counted. */
const ENTRIES_MAX = 128
const NAME_CHARACTERS_MAX = 256

interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: BoundedText
}

export interface StreamTimings {
  readonly event_count: number
  /** Milliseconds from the start of the request to the first and to the last event. */
  readonly first_event_ms: number
  readonly last_event_ms: number
}

export class StreamMessage {
  readonly #charactersMax: number
  readonly #text: BoundedText
  readonly #reasoning: BoundedText
  readonly #refusal: BoundedText
  readonly #calls: Call[] = []
  readonly #hosted: Array<{ name: string; status: string }> = []
  readonly #files: string[] = []
  #skipped = 0
  #finishReason: string | undefined
  #error: { code: string; message: string } | undefined
  #eventCount = 0
  #firstMs = 0
  #lastMs = 0

  /** Each text has at most this many characters, and the arguments of the n-th call the n-th part of it. */
  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax
    this.#text = new BoundedText(charactersMax)
    this.#reasoning = new BoundedText(charactersMax)
    this.#refusal = new BoundedText(charactersMax)
  }

  get timings(): StreamTimings {
    return {
      event_count: this.#eventCount,
      first_event_ms: roundMs(this.#firstMs),
      last_event_ms: roundMs(this.#lastMs)
    }
  }

  /** Takes the events that were written so many milliseconds after the start. */
  take(events: readonly NormalizedEvent[], atMs: number): void {
    if (events.length === 0) return
    if (this.#eventCount === 0) this.#firstMs = atMs
    this.#lastMs = atMs
    this.#eventCount += events.length
    for (const event of events) this.#take(event)
  }

  /** The message as JSON text. */
  write(): string {
    return JSON.stringify({
      object: 'stream',
      role: 'assistant',
      content: writeText(this.#text),
      reasoning: writeText(this.#reasoning),
      refusal: writeText(this.#refusal),
      tool_calls: listOrNone(this.#calls.map(call => ({ ...call, arguments: call.arguments.toString() }))),
      hosted_tools: listOrNone(this.#hosted),
      files: listOrNone(this.#files),
      left_out: this.#skipped === 0 ? undefined : this.#skipped,
      finish_reason: this.#finishReason,
      error: this.#error
    })
  }

  #take(event: NormalizedEvent): void {
    switch (event.type) {
      case 'text-delta':
        this.#text.add(event.text)
        return
      case 'reasoning-delta':
        this.#reasoning.add(event.text)
        return
      case 'refusal-delta':
        this.#refusal.add(event.text)
        return
      case 'tool-call-start': {
        const name = flattenToolName(event).slice(0, NAME_CHARACTERS_MAX)
        const id = event.id.slice(0, NAME_CHARACTERS_MAX)
        const share = Math.floor(this.#charactersMax / (this.#calls.length + 1))
        this.#keep(this.#calls, { id, name, arguments: new BoundedText(share) })
        return
      }
      case 'tool-call-delta':
        this.#calls[event.index]?.arguments.add(event.arguments)
        return
      case 'hosted-tool-start':
        this.#keep(this.#hosted, { name: event.name.slice(0, NAME_CHARACTERS_MAX), status: 'started' })
        return
      case 'hosted-tool-end': {
        const run = this.#hosted[event.index]
        if (run !== undefined) run.status = event.status
        return
      }
      case 'file':
        this.#keep(this.#files, event.file.fileId.slice(0, NAME_CHARACTERS_MAX))
        return
      case 'finish':
        this.#finishReason = event.reason
        return
      case 'error': {
        const { code, message } = event.error
        this.#error = { code, message }
        return
      }
    }
  }

  #keep<Entry>(entries: Entry[], entry: Entry): void {
    if (entries.length < ENTRIES_MAX) entries.push(entry)
    else this.#skipped += 1
  }
}

function writeText(text: BoundedText): string | undefined {
  return text.isEmpty ? undefined : text.toString()
}

function listOrNone<Entry>(entries: readonly Entry[]): readonly Entry[] | undefined {
  return entries.length === 0 ? undefined : entries
}

function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
