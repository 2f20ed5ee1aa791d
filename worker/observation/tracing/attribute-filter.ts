// The last step before any attribute is exported: without the main switch no content passes,
// everything is redacted, and every value is bounded and of a type that spans have
// (operations.md 11.3).
import type { Redactor } from '../../../shared/secrets/redaction.ts'
import type { Captured } from '../../translation/call-description.ts'
import { captureValue } from '../../translation/capture.ts'
import type { CaptureSwitches } from './capture-switches.ts'

export type AttributeValue = string | number | boolean | string[] | number[] | boolean[]
export type SpanAttributes = Record<string, AttributeValue>

/** Content that is always one text in an attribute; where it was cut before, that text gets the mark of a cut even if it is short. */
export class ContentText {
  readonly value: unknown
  readonly isCut: boolean

  constructor(value: unknown, isCut: boolean) {
    this.value = value
    this.isCut = isCut
  }
}

/** Captured content as the value of an attribute. */
export function capturedAttribute(captured: Captured | undefined): ContentText | undefined {
  return captured && new ContentText(captured.value, captured.isCut)
}

const CONTENT_KEYS: ReadonlySet<string> = new Set([
  'content',
  'error.message',
  'error_message',
  'input',
  'input.messages',
  'input.value',
  'llm.input_messages',
  'llm.output_messages',
  'llm.request.extensions',
  'llm.tool_calls',
  'llm.tools',
  'messages',
  'output',
  'output.messages',
  'output.value',
  'prompt',
  'request.body',
  'request_body',
  'response.body',
  'response_body'
])

const CUT_MARK = '...[truncated]'

/** Ids, names and settings are not cut by a small limit of content. */
const FACT_CHARACTERS_MIN = 1024

/** Applies the rules to the values of one span or event. The result is a new record. */
export type AttributeFilter = (values: Readonly<Record<string, unknown>>) => SpanAttributes

export function createAttributeFilter({ content, charactersMax, redactor }: CaptureSwitches): AttributeFilter {
  const contentWriter = new ValueWriter(charactersMax, redactor)
  const factWriter = new ValueWriter(Math.max(charactersMax, FACT_CHARACTERS_MIN), redactor)
  return values => {
    const attributes: SpanAttributes = {}
    for (const name in values) {
      const isOfContent = isContent(name)
      if (isOfContent && !content) continue
      const value = (isOfContent ? contentWriter : factWriter).write(values[name])
      if (value !== undefined) attributes[name] = value
    }
    return attributes
  }
}

/** Writes values that are redacted and have at most so many characters. */
class ValueWriter {
  readonly #charactersMax: number
  readonly #redactor: Redactor | undefined

  constructor(charactersMax: number, redactor: Redactor | undefined) {
    this.#charactersMax = charactersMax
    this.#redactor = redactor
  }

  /** Undefined for a value that is dropped. */
  write(value: unknown): AttributeValue | undefined {
    switch (typeof value) {
      case 'string':
        return this.#writeText(value)
      case 'boolean':
        return value
      case 'number':
        return Number.isFinite(value) ? value : undefined
      case 'object':
        return value === null ? undefined : this.#writeObject(value)
      default:
        return undefined
    }
  }

  #writeObject(value: object): AttributeValue {
    if (value instanceof ContentText) {
      const { value: content, isCut } = value
      return typeof content === 'string' ? this.#writeText(content, isCut) : this.#writeJson(content, isCut)
    }
    return (Array.isArray(value) ? this.#writeList(value) : undefined) ?? this.#writeJson(value)
  }

  /** A list of texts, numbers or booleans; undefined for any other. */
  #writeList(list: readonly unknown[]): AttributeValue | undefined {
    if (list.every(item => typeof item === 'boolean')) return [...list]
    if (list.every(item => typeof item === 'number' && Number.isFinite(item))) return [...list] as number[]
    if (!list.every(item => typeof item === 'string')) return undefined
    const texts: string[] = []
    let left = this.#charactersMax
    for (const item of list) {
      const text = this.#writeText(item)
      left -= text.length
      if (left < 0) break
      texts.push(text)
    }
    return texts
  }

  #writeText(text: string, isCut = false): string {
    if (text.length <= this.#charactersMax) return this.#cut(this.#redactor?.redactText(text) ?? text, isCut)
    // Shortened first, because redaction looks at all of it.
    const bounded = captureValue(text, this.#charactersMax)
    const kept = String(bounded.value)
    return this.#cut(this.#redactor?.redactText(kept) ?? kept, isCut || bounded.isCut)
  }

  #writeJson(value: unknown, isCut = false): string {
    const redacted = this.#redactor === undefined ? value : this.#redactor.redactValue(value)
    const bounded = captureValue(redacted, this.#charactersMax)
    return this.#cut(JSON.stringify(bounded.value), isCut || bounded.isCut)
  }

  /** Of text that is redacted already. */
  #cut(text: string, isCut: boolean): string {
    const max = this.#charactersMax
    if (!isCut && text.length <= max) return text
    const kept = text.slice(0, Math.max(0, max - CUT_MARK.length)).toWellFormed()
    return `${kept}${CUT_MARK}`.slice(0, max)
  }
}

function isContent(name: string): boolean {
  return CONTENT_KEYS.has(name) || name.endsWith('.extensions') || name.endsWith('_extensions')
}
