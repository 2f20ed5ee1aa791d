// Reads one output item of a response: its pieces while they arrive, and at its end what no event has told (bridge.md 8.9).

import {
  type CallCollector,
  type EventAssembler,
  isJsonObject,
  type JsonObject,
  type ProviderState
} from '../../../normalized/index.ts'
import { protocolError } from '../../shared/external-payload.ts'
import type { ClientToolName } from '../../shared/tools/tool-names.ts'
import { createHostedReader, hostedItemTypes } from './hosted-items.ts'
import type { ItemReader } from './item-reader.ts'

export interface ItemSurroundings {
  assembler: EventAssembler
  collector: CallCollector
  /** The index of the item in the output. */
  index: number
  toolNames: ReadonlyMap<string, ClientToolName>
}

/** Begins an item; undefined for one of a type that the normalized form has no place for. Raises `provider_protocol_error`. */
export function createItemReader(item: JsonObject, surroundings: ItemSurroundings): ItemReader | undefined {
  switch (item.type) {
    case 'message':
      return new MessageReader(surroundings)
    case 'reasoning':
      return new ReasoningReader(surroundings)
    case 'function_call':
      return new CallReader(item, surroundings, 'arguments')
    case 'custom_tool_call':
      return new CallReader(item, surroundings, 'input')
    default:
      return hostedItemTypes.has(item.type) ? createHostedReader(item, surroundings) : undefined
  }
}

class MessageReader implements ItemReader {
  isOver = false
  readonly #assembler: EventAssembler
  readonly #collector: CallCollector
  #hasPieces = false
  #hasAnnotations = false

  constructor({ assembler, collector }: ItemSurroundings) {
    this.#assembler = assembler
    this.#collector = collector
  }

  text(piece: string): void {
    this.#hasPieces = true
    this.#collector.pass(piece.length, () => this.#assembler.text(piece))
  }

  refusal(piece: string): void {
    this.#hasPieces = true
    this.#collector.pass(piece.length, () => this.#assembler.refusal(piece))
  }

  /** Citations of urls are kept: other annotations name files that only the provider has. */
  annotation(annotation: unknown): void {
    this.#hasAnnotations = true
    const citation = readCitation(annotation)
    if (citation === undefined) return
    this.#collector.pass(citation.url.length + citation.title.length, () => this.#assembler.citation(citation))
  }

  end({ content, phase }: JsonObject): void {
    if (this.isOver) return
    this.isOver = true
    if (Array.isArray(content)) for (const part of content) this.#endPart(part)
    const assembler = this.#assembler
    this.#collector.pass(0, () => {
      // Later models want the phase back with the message.
      const state: ProviderState | undefined = typeof phase === 'string' ? { responses: { phase } } : undefined
      if (state !== undefined && assembler.openBlock === 'text') assembler.blockState(state)
      assembler.closeBlock()
    })
  }

  #endPart(part: unknown): void {
    if (!isJsonObject(part)) throw protocolError('invalid_message_content')
    if (!this.#hasPieces && part.type === 'output_text') this.#whole(part.text, piece => this.text(piece))
    if (!this.#hasPieces && part.type === 'refusal') this.#whole(part.refusal, piece => this.refusal(piece))
    if (!this.#hasAnnotations && Array.isArray(part.annotations)) {
      for (const annotation of part.annotations) this.annotation(annotation)
      this.#hasAnnotations = false
    }
  }

  /** Adds a text that no event told; the parts behind it are not told either. */
  #whole(text: unknown, add: (piece: string) => void): void {
    if (typeof text !== 'string') throw protocolError('invalid_message_content')
    add(text)
    this.#hasPieces = false
  }
}

class ReasoningReader implements ItemReader {
  isOver = false
  readonly #assembler: EventAssembler
  readonly #collector: CallCollector
  #part: number | undefined

  constructor({ assembler, collector }: ItemSurroundings) {
    this.#assembler = assembler
    this.#collector = collector
  }

  reasoning(piece: string, part: number): void {
    if (piece === '') return
    const isFurther = this.#part !== undefined && this.#part !== part
    this.#part = part
    const text = isFurther ? `\n\n${piece}` : piece
    this.#collector.pass(text.length, () => this.#assembler.reasoning(text))
  }

  end(item: JsonObject): void {
    if (this.isOver) return
    this.isOver = true
    if (this.#part === undefined) this.#addWhole(item)
    const state = keepItem(item)
    const assembler = this.#assembler
    this.#collector.pass(0, () => {
      if (state !== undefined) {
        if (assembler.openBlock === 'reasoning') assembler.blockState(state)
        else assembler.opaqueReasoning(state)
      }
      assembler.closeBlock()
    })
  }

  /** The summary is shown where there is one, else the reasoning itself. */
  #addWhole({ summary, content }: JsonObject): void {
    const shown = [summary, content].find(list => Array.isArray(list) && list.length > 0)
    if (!Array.isArray(shown)) return
    for (const [index, part] of shown.entries()) {
      if (isJsonObject(part) && typeof part.text === 'string') this.reasoning(part.text, index)
    }
  }
}

/** The reasoning as its provider wants it back: encrypted, or in its words; undefined for a mere id, which an unstored response does not have. */
function keepItem({ id, summary, content, encrypted_content }: JsonObject): ProviderState | undefined {
  const hasWords = Array.isArray(content) && content.length > 0
  const isEncrypted = typeof encrypted_content === 'string' && encrypted_content !== ''
  if (!hasWords && !isEncrypted) return undefined
  const item: JsonObject = { type: 'reasoning' }
  if (typeof id === 'string') item.id = id
  item.summary = Array.isArray(summary) ? summary : []
  if (hasWords) item.content = content
  if (isEncrypted) item.encrypted_content = encrypted_content
  return { responses: { reasoningItem: JSON.stringify(item) } }
}

/** A call of a function, or of a free-form tool, whose text is one argument (decisions.md 77). */
class CallReader implements ItemReader {
  isOver = false
  readonly #assembler: EventAssembler
  readonly #collector: CallCollector
  readonly #index: number
  readonly #member: 'arguments' | 'input'
  /** The text so far of a free-form tool, which becomes JSON at its end. */
  #input = ''
  #hasPieces = false

  constructor(item: JsonObject, surroundings: ItemSurroundings, member: 'arguments' | 'input') {
    const { assembler, collector, index, toolNames } = surroundings
    const { call_id: id, name, namespace } = item
    if (typeof name !== 'string' || name === '') throw protocolError('invalid_tool_call')
    if (id !== undefined && id !== null && typeof id !== 'string') throw protocolError('invalid_tool_call')
    this.#assembler = assembler
    this.#collector = collector
    this.#index = index
    this.#member = member
    const known = toolNames.get(name)
    const ownNamespace = typeof namespace === 'string' ? { namespace } : {}
    collector.add({ index, id: id ?? '', ...(known ?? { name, ...ownNamespace }) })
  }

  callText(piece: string): void {
    if (piece === '') return
    this.#hasPieces = true
    if (this.#member === 'input') {
      this.#input += piece
      this.#assembler.keep(piece.length)
    } else this.#collector.add({ index: this.#index, arguments: piece })
  }

  end(item: JsonObject): void {
    if (this.isOver) return
    this.isOver = true
    const whole = item[this.#member]
    if (!this.#hasPieces && typeof whole === 'string') this.callText(whole)
    if (this.#member === 'input') {
      this.#collector.add({ index: this.#index, arguments: JSON.stringify({ input: this.#input }) })
    }
    this.#collector.complete(this.#index)
  }
}

function readCitation(annotation: unknown) {
  if (!isJsonObject(annotation) || annotation.type !== 'url_citation') return undefined
  const { url, title, start_index: startIndex, end_index: endIndex } = annotation
  if (typeof url !== 'string' || typeof startIndex !== 'number' || typeof endIndex !== 'number') return undefined
  return {
    type: 'url-citation' as const,
    startIndex,
    endIndex,
    url,
    title: typeof title === 'string' ? title : ''
  }
}
