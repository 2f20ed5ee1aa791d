// Edits responses of a provider of this wire for a client of it: the model is renamed, and what official SDKs cannot read is put right in the
// bytes (decisions.md 72, 81 and 107). Everything else stays as the provider wrote it.

import { asBuffer } from '../../../shared/bytes.ts'
import { isJsonObject, type JsonObject, type JsonValue, tryParseJson } from '../../normalized/index.ts'
import type { ResponseEditor, ResponseEditorOptions } from '../provider-face.ts'
import { JsonEdits } from '../shared/json/edits.ts'
import { createLoneText, type LoneText, replaceLoneText } from '../shared/json/lone-text.ts'
import { editJson } from '../shared/json/spans.ts'
import { editFrameData, findFrameData } from '../shared/stream/frame-data.ts'
import { type CallEditor, createCallEditor } from './call-editor.ts'
import { joinParts } from './provider/content-parts.ts'
import { readFinishWord, type WireFinish } from './provider/finish-words.ts'
import type { ChatCompatibleReading } from './provider/reading.ts'

const END_MARK = '[DONE]'
/** Of a frame that is the mark alone. */
const END_MARK_BYTES_MAX = 32
const END_FRAME = Buffer.from(`data: ${END_MARK}\n\n`)

/** What a chunk must be looked at for: the end of a choice, calls, counts, a content in parts. In texts the quotes are escaped, so that no text looks like it. */
const SPECIAL = /"finish_reason"\s*:\s*[^n\s]|"(?:tool_calls|function_call|usage)"\s*:\s*[^n\s]|"content"\s*:\s*\[/

/** One choice of the response so far. */
interface Choice {
  calls: CallEditor
  hasFinish: boolean
}

export class CompletionsEditor implements ResponseEditor {
  readonly #options: ResponseEditorOptions<ChatCompatibleReading>
  /** The changes of a chunk that only adds text. */
  readonly #plain = new JsonEdits()
  readonly #model: LoneText
  readonly #choices = new Map<number, Choice>()
  /** Choices of which no chunk has come. */
  #unseen: number
  /** Choices that have not ended. */
  #unfinished: number
  /** What comes behind the end of all choices. */
  readonly #held: Buffer[] = []
  /** The members that every chunk has, as the latest one had them. */
  #head: JsonObject = {}
  /** The usage that stood beside choices. */
  #usage: JsonObject | undefined

  constructor(options: ResponseEditorOptions<ChatCompatibleReading>) {
    this.#options = options
    this.#unseen = options.reading.choices ?? 1
    this.#unfinished = this.#unseen
    this.#plain.replaceText(['model'], options.publicModel)
    this.#model = createLoneText('model', options.publicModel)
    if (options.reading.showsUsage !== true) this.#plain.drop('usage')
  }

  editBody(bytes: Uint8Array): Uint8Array {
    const buffer = asBuffer(bytes)
    const payload = tryParseJson(buffer.toString('utf8'))
    if (!isJsonObject(payload)) return buffer
    const edits = new JsonEdits()
    edits.replaceText(['model'], this.#options.publicModel)
    editUsage(payload.usage, edits)
    for (const [number, choice] of listObjects(payload.choices))
      this.#editWholeChoice(choice, edits.at('choices', number))
    return editJson(buffer, edits).edited
  }

  editFrame(frame: Uint8Array): Uint8Array {
    const buffer = asBuffer(frame)
    if (isEndMark(buffer)) return this.#release(buffer)
    const edited = this.#edit(buffer)
    if (this.#unfinished > 0) return edited
    // A failure may follow, and a failed stream has no other end (decisions.md 108).
    this.#held.push(edited)
    return NO_FRAME
  }

  end(): Buffer {
    return this.#release(END_FRAME)
  }

  #release(mark: Buffer): Buffer {
    return Buffer.concat([...this.#held, Buffer.from(this.#writeRest()), mark])
  }

  #edit(frame: Buffer): Buffer {
    const text = frame.toString('latin1')
    const isPlain = this.#unseen <= 0 && !SPECIAL.test(text)
    if (isPlain) {
      const keepsAll = this.#options.reading.showsUsage === true || !text.includes('"usage"')
      const replace = (data: Buffer) => (keepsAll ? replaceLoneText(data, this.#model) : undefined)
      return editFrameData(frame, data => replace(data) ?? editJson(data, this.#plain).edited)
    }
    const data = findFrameData(frame)
    const payload = data === undefined ? undefined : tryParseJson(data.toString('utf8'))
    return isJsonObject(payload) ? this.#editChunk(payload, frame) : frame
  }

  /** The chunks that the provider left out: the end of a choice (field-lessons.md A11), and the usage that stood beside choices. */
  #writeRest(): string {
    let text = ''
    for (const [index, choice] of this.#choices) {
      if (choice.hasFinish) continue
      choice.hasFinish = true
      text += this.#writeChunk({
        choices: [{ index, delta: {}, finish_reason: writeFinish('stop', choice.calls.count) }],
        ...(this.#options.reading.showsUsage === true && { usage: null })
      })
    }
    if (this.#usage !== undefined) text += this.#writeChunk({ choices: [], usage: this.#usage })
    this.#usage = undefined
    return text
  }

  #writeChunk(members: JsonObject): string {
    return `data: ${JSON.stringify({ ...this.#head, ...members })}\n\n`
  }

  #editChunk(payload: JsonObject, frame: Buffer): Buffer {
    const { id, object, created, choices, usage } = payload
    const { publicModel, reading } = this.#options
    const { showsUsage = false } = reading
    this.#head = { id, object, created, model: publicModel }
    const edits = new JsonEdits()
    edits.replaceText(['model'], publicModel)
    const hasChoices = Array.isArray(choices) && choices.length > 0
    if (isJsonObject(usage)) {
      if (!hasChoices && !showsUsage) return NO_FRAME
      if (hasChoices) {
        // Some servers send the counts so far beside every chunk, and those of the end in one of its own.
        if (showsUsage) this.#usage = withCacheDetails(usage)
        if (showsUsage) edits.set(['usage'], null)
        else edits.drop('usage')
      } else {
        this.#usage = undefined
        editUsage(usage, edits)
      }
    } else if (!showsUsage) edits.drop('usage')
    for (const [number, choice] of listObjects(choices)) this.#editChoice(choice, edits.at('choices', number))
    return editFrameData(frame, data => editJson(data, edits).edited)
  }

  #editChoice(choice: JsonObject, edits: JsonEdits): void {
    const index = typeof choice.index === 'number' ? choice.index : 0
    const known = this.#choices.get(index)
    const { delta, finish_reason: word } = choice
    const state = known ?? { calls: createCallEditor(this.#options.createNonce), hasFinish: false }
    if (known === undefined) {
      this.#choices.set(index, state)
      this.#unseen--
    }
    if (isJsonObject(delta)) {
      // A helper of an SDK refuses a message without a role.
      if (known === undefined && typeof delta.role !== 'string') edits.set(['delta', 'role'], 'assistant')
      state.calls.editDeltas(delta, edits.at('delta'))
      editContent(delta, edits.at('delta'))
    }
    // Some servers send '' until the end (field-lessons.md A10).
    if (word === '') edits.set(['finish_reason'], null)
    if (typeof word !== 'string' || word === '') return
    if (!state.hasFinish) this.#unfinished--
    state.hasFinish = true
    if (!OWN_WORDS.has(word)) edits.set(['finish_reason'], writeFinish(readFinishWord(word), state.calls.count))
  }

  #editWholeChoice({ finish_reason: word, message }: JsonObject, edits: JsonEdits): void {
    const calls = createCallEditor(this.#options.createNonce)
    if (isJsonObject(message)) {
      if (typeof message.role !== 'string') edits.set(['message', 'role'], 'assistant')
      calls.editWhole(message, edits.at('message'))
      editContent(message, edits.at('message'))
    }
    if (typeof word === 'string' && OWN_WORDS.has(word)) return
    edits.set(['finish_reason'], writeFinish(readFinishWord(word), calls.count))
  }
}

const NO_FRAME = Buffer.alloc(0)

function isEndMark(data: Buffer): boolean {
  return data.length <= END_MARK_BYTES_MAX && data.includes(END_MARK)
}

const OWN_WORDS: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])

/** The word of the wire. A response that failed is one that is cut off. */
function writeFinish(finish: WireFinish, callCount: number): string {
  switch (finish) {
    case 'length':
    case 'failed':
      return 'length'
    case 'content-filter':
      return 'content_filter'
    default:
      return callCount > 0 ? 'tool_calls' : 'stop'
  }
}

function* listObjects(list: JsonValue | undefined): Generator<[number, JsonObject]> {
  if (!Array.isArray(list)) return
  for (const [index, item] of list.entries()) if (isJsonObject(item)) yield [index, item]
}

/** A content of a message or a delta that is a list of parts becomes a text, and its thinking the member that other services have for it. */
function editContent(holder: JsonObject, edits: JsonEdits): void {
  const joined = joinParts(holder.content)
  if (joined === undefined) return
  edits.set(['content'], joined.text)
  const hasOwn = [holder.reasoning_content, holder.reasoning].some(member => typeof member === 'string')
  if (joined.thinking !== '' && !hasOwn) edits.set(['reasoning_content'], joined.thinking)
}

/** Shows cached tokens that stand beside the counts where clients look for them. */
function editUsage(usage: JsonValue | undefined, edits: JsonEdits): void {
  const cached = findFlatCache(usage)
  if (cached === undefined || !isJsonObject(usage)) return
  if (isJsonObject(usage.prompt_tokens_details)) edits.set(['usage', 'prompt_tokens_details', 'cached_tokens'], cached)
  else edits.set(['usage', 'prompt_tokens_details'], { cached_tokens: cached })
}

function withCacheDetails(usage: JsonObject): JsonObject {
  const cached = findFlatCache(usage)
  if (cached === undefined) return usage
  const { prompt_tokens_details: details } = usage
  return { ...usage, prompt_tokens_details: { ...(isJsonObject(details) && details), cached_tokens: cached } }
}

/** The cached tokens of a service that counts them outside of the details only. */
function findFlatCache(usage: JsonValue | undefined): number | undefined {
  if (!isJsonObject(usage)) return undefined
  const { prompt_tokens_details: details } = usage
  if (isJsonObject(details) && typeof details.cached_tokens === 'number') return undefined
  return [usage.cached_tokens, usage.prompt_cache_hit_tokens].find(count => typeof count === 'number')
}
