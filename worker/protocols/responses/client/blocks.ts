// Writes the output items of blocks: texts and refusals become messages, reasoning and tool calls become items of their own type.
// An item opens with its first content and is reported again when it is complete (responses.md 5.1 to 5.3 and 7.2 to 7.4).

import { GrowingText, type JsonObject, type UrlCitation } from '../../../normalized/index.ts'
import { FreeFormInput } from '../../shared/tools/free-form-input.ts'
import { NO_ARGUMENTS } from '../../shared/tools/tool-arguments.ts'
import type { OutputList } from './output-list.ts'
import type {
  ResponsesAnnotation,
  ResponsesCustomCall,
  ResponsesFunctionCall,
  ResponsesMessage,
  ResponsesOutputText,
  ResponsesReasoning,
  ResponsesRefusal
} from './schema.ts'

export type ClosingStatus = 'completed' | 'incomplete'

/** The item that an event belongs to. */
interface Place {
  item_id: string
  output_index: number
}

/** A message has one content part here, so every event of its content has index 0. */
const CONTENT = { content_index: 0 } as const
const SUMMARY = { summary_index: 0 } as const

export class TextBlock {
  readonly kind = 'text'
  readonly #list: OutputList
  readonly #annotations: ResponsesAnnotation[] = []
  readonly #text = new GrowingText()
  #place: Place | undefined
  #message: ResponsesMessage | undefined

  constructor(list: OutputList) {
    this.#list = list
  }

  get isOpen(): boolean {
    return this.#message !== undefined
  }

  /** Opens the message, even if no text follows. */
  open(): Place {
    if (this.#place !== undefined) return this.#place
    const message = createMessage(this.#list)
    this.#message = message
    const place = { item_id: message.id, output_index: this.#list.add(message) }
    this.#place = place
    this.#list.emit?.({ type: 'response.content_part.added', ...place, ...CONTENT, part: createTextPart('', []) })
    return place
  }

  add(piece: string): void {
    if (piece === '') return
    const { item_id, output_index } = this.#place ?? this.open()
    this.#text.add(piece)
    this.#list.emit?.({
      type: 'response.output_text.delta',
      item_id,
      output_index,
      content_index: 0,
      delta: piece,
      logprobs: []
    })
  }

  /** Adds a citation of the text; ignored before the first text. */
  cite(citation: UrlCitation): void {
    if (this.#place === undefined) return
    const annotation: ResponsesAnnotation = {
      type: 'url_citation',
      start_index: citation.startIndex,
      end_index: citation.endIndex,
      url: citation.url,
      title: citation.title
    }
    const annotation_index = this.#annotations.push(annotation) - 1
    const type = 'response.output_text.annotation.added'
    this.#list.emit?.({ type, ...this.#place, ...CONTENT, annotation_index, annotation })
  }

  /** @param inlineData results of hosted tools for this text. */
  close(status: ClosingStatus, inlineData: JsonObject | undefined): void {
    if (this.#place === undefined || this.#message === undefined) return
    const text = this.#text.toString()
    const part = createTextPart(text, this.#annotations)
    if (inlineData !== undefined) part.inline_data = inlineData
    const place = { ...this.#place, ...CONTENT }
    this.#list.emit?.({ type: 'response.output_text.done', ...place, text, logprobs: [] })
    this.#list.emit?.({ type: 'response.content_part.done', ...place, part })
    finishMessage(this.#list, this.#place, { message: this.#message, part, status })
  }

  /** The item as it is now. */
  peek(status: ClosingStatus): ResponsesMessage | undefined {
    const content = [createTextPart(this.#text.toString(), this.#annotations)]
    return this.#message && { ...this.#message, content, status }
  }
}

export class RefusalBlock {
  readonly kind = 'refusal'
  readonly #list: OutputList
  #refusal = ''
  #place: Place | undefined
  #message: ResponsesMessage | undefined

  constructor(list: OutputList) {
    this.#list = list
  }

  add(piece: string): void {
    if (piece === '') return
    this.#place ??= this.#open()
    this.#refusal += piece
    this.#list.emit?.({ type: 'response.refusal.delta', ...this.#place, ...CONTENT, delta: piece })
  }

  close(status: ClosingStatus): void {
    if (this.#place === undefined || this.#message === undefined) return
    const part: ResponsesRefusal = { type: 'refusal', refusal: this.#refusal }
    const place = { ...this.#place, ...CONTENT }
    this.#list.emit?.({ type: 'response.refusal.done', ...place, refusal: this.#refusal })
    this.#list.emit?.({ type: 'response.content_part.done', ...place, part })
    finishMessage(this.#list, this.#place, { message: this.#message, part, status })
  }

  /** The item as it is now. */
  peek(status: ClosingStatus): ResponsesMessage | undefined {
    return this.#message && { ...this.#message, content: [{ type: 'refusal', refusal: this.#refusal }], status }
  }

  #open(): Place {
    this.#message = createMessage(this.#list)
    const place = { item_id: this.#message.id, output_index: this.#list.add(this.#message) }
    const part = { type: 'refusal', refusal: '' } as const
    this.#list.emit?.({ type: 'response.content_part.added', ...place, ...CONTENT, part })
    return place
  }
}

export class ReasoningBlock {
  readonly kind = 'reasoning'
  readonly #list: OutputList
  readonly #text = new GrowingText()
  #place: Place | undefined
  #item: ResponsesReasoning | undefined

  constructor(list: OutputList) {
    this.#list = list
  }

  add(piece: string): void {
    if (piece === '') return
    this.#place ??= this.#open()
    this.#text.add(piece)
    this.#list.emit?.({ type: 'response.reasoning_summary_text.delta', ...this.#place, ...SUMMARY, delta: piece })
  }

  /** @param signature state that the provider wants back with the reasoning. */
  close(signature?: string): void {
    if (this.#place === undefined || this.#item === undefined) {
      if (signature !== undefined) addStateItem(this.#list, signature)
      return
    }
    const text = this.#text.toString()
    const part = { type: 'summary_text', text } as const
    const place = { ...this.#place, ...SUMMARY }
    this.#list.emit?.({ type: 'response.reasoning_summary_text.done', ...place, text })
    this.#list.emit?.({ type: 'response.reasoning_summary_part.done', ...place, part })
    this.#item.summary = [part]
    if (signature !== undefined) this.#item.encrypted_content = signature
    this.#list.finish(this.#place.output_index, this.#item)
  }

  /** The item as it is now. */
  peek(): ResponsesReasoning | undefined {
    return this.#item && { ...this.#item, summary: [{ type: 'summary_text', text: this.#text.toString() }] }
  }

  #open(): Place {
    this.#item = { id: this.#list.createId('rs'), type: 'reasoning', summary: [] }
    const place = { item_id: this.#item.id, output_index: this.#list.add(this.#item) }
    const part = { type: 'summary_text', text: '' } as const
    this.#list.emit?.({ type: 'response.reasoning_summary_part.added', ...place, ...SUMMARY, part })
    return place
  }
}

/**
 * Adds an item of reasoning without text: its encrypted content carries state, since no other item
 * has a member for it (decisions.md 30).
 */
export function addStateItem(list: OutputList, signature: string): void {
  const item: ResponsesReasoning = { id: list.createId('rs'), type: 'reasoning', summary: [] }
  const index = list.add(item)
  item.encrypted_content = signature
  list.finish(index, item)
}

/** A tool call with the name and namespace that the client declared. */
export interface CallHead {
  id: string
  name: string
  namespace?: string
  /** The tool is a custom one: its call has a text in place of arguments. */
  isFreeForm?: true
}

/** The call of a custom tool, whose input is the text of the one parameter of the function that stands for it (decisions.md 77). */
export class CustomCallBlock {
  readonly kind = 'call'
  readonly #list: OutputList
  readonly #place: Place
  readonly #item: ResponsesCustomCall
  readonly #input = new FreeFormInput()
  readonly #text = new GrowingText()

  constructor(list: OutputList, { id, name, namespace }: CallHead) {
    this.#list = list
    this.#item = { id: `ctc_${id}`, type: 'custom_tool_call', status: 'in_progress', call_id: id, name, input: '' }
    if (namespace !== undefined) this.#item.namespace = namespace
    this.#place = { item_id: this.#item.id, output_index: list.add(this.#item) }
  }

  add(piece: string): void {
    this.#write(this.#input.add(piece))
  }

  /** Reports the input as done only when it is complete, because a client runs the tool on that event. */
  close(status: ClosingStatus): void {
    this.#write(this.#input.end())
    const item = this.#item
    item.input = this.#text.toString()
    if (status === 'completed') {
      const { input } = item
      this.#list.emit?.({ type: 'response.custom_tool_call_input.done', ...this.#place, input })
    }
    item.status = status
    this.#list.finish(this.#place.output_index, item)
  }

  /** The item as it is now. */
  peek(status: ClosingStatus): ResponsesCustomCall {
    return { ...this.#item, input: this.#text.toString(), status }
  }

  #write(text: string): void {
    if (text === '') return
    this.#text.add(text)
    this.#list.emit?.({ type: 'response.custom_tool_call_input.delta', ...this.#place, delta: text })
  }
}

export class CallBlock {
  readonly kind = 'call'
  readonly #list: OutputList
  readonly #place: Place
  readonly #item: ResponsesFunctionCall

  constructor(list: OutputList, head: CallHead) {
    this.#list = list
    this.#item = {
      // The item id contains the call id, because some clients send back only the item id.
      id: `fc_${head.id}`,
      type: 'function_call',
      status: 'in_progress',
      call_id: head.id,
      name: head.name,
      arguments: ''
    }
    if (head.namespace !== undefined) this.#item.namespace = head.namespace
    this.#place = { item_id: this.#item.id, output_index: list.add(this.#item) }
  }

  add(piece: string): void {
    if (piece === '') return
    this.#item.arguments += piece
    this.#list.emit?.({ type: 'response.function_call_arguments.delta', ...this.#place, delta: piece })
  }

  /** Reports the arguments as done only when they are complete, because a client runs the tool on that event. */
  close(status: ClosingStatus): void {
    const item = this.#item
    if (status === 'completed') {
      if (item.arguments === '') this.add(NO_ARGUMENTS)
      const { name, arguments: text } = item
      this.#list.emit?.({ type: 'response.function_call_arguments.done', ...this.#place, name, arguments: text })
    }
    item.status = status
    this.#list.finish(this.#place.output_index, item)
  }

  /** The item as it is now. */
  peek(status: ClosingStatus): ResponsesFunctionCall {
    return { ...this.#item, status }
  }
}

function createMessage(list: OutputList): ResponsesMessage {
  return { id: list.createId('msg'), type: 'message', status: 'in_progress', role: 'assistant', content: [] }
}

function createTextPart(text: string, annotations: ResponsesAnnotation[]): ResponsesOutputText {
  return { type: 'output_text', text, annotations, logprobs: [] }
}

function finishMessage(
  list: OutputList,
  place: Place,
  end: { message: ResponsesMessage; part: ResponsesOutputText | ResponsesRefusal; status: ClosingStatus }
): void {
  const { message, part, status } = end
  message.content = [part]
  message.status = status
  list.finish(place.output_index, message)
}
