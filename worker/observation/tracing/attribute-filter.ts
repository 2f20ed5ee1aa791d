// The last step before an attribute is exported, whatever made it: without the main switch no content passes, everything is redacted, and
// every value is bounded and of a type that spans have (operations contract, section 11.3).
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

/** Applies the rules to the values of one span or event. The result is a new record. */
export type AttributeFilter = (values: Readonly<Record<string, unknown>>) => SpanAttributes

export function createAttributeFilter(capture: CaptureSwitches): AttributeFilter {
  const { content, charactersMax, redactor } = capture

  /** Of text that is redacted already. */
  function cut(text: string, isCut: boolean): string {
    if (!isCut && text.length <= charactersMax) return text
    const kept = text.slice(0, Math.max(0, charactersMax - CUT_MARK.length)).toWellFormed()
    return `${kept}${CUT_MARK}`.slice(0, charactersMax)
  }

  function writeText(text: string, isCut = false): string {
    // A text that is long beyond every secret is shortened first, because redaction looks at all of it.
    const bounded = captureValue(text, charactersMax)
    const kept = String(bounded.value)
    return cut(redactor?.redactText(kept) ?? kept, isCut || bounded.isCut)
  }

  function writeJson(value: unknown, isCut = false): string {
    const redacted = redactor === undefined ? value : redactor.redactValue(value)
    const bounded = captureValue(redacted, charactersMax)
    return cut(JSON.stringify(bounded.value), isCut || bounded.isCut)
  }

  function writeValue(value: unknown): AttributeValue | undefined {
    if (value instanceof ContentText) {
      return typeof value.value === 'string' ? writeText(value.value, value.isCut) : writeJson(value.value, value.isCut)
    }
    switch (typeof value) {
      case 'string':
        return writeText(value)
      case 'boolean':
        return value
      case 'number':
        return Number.isFinite(value) ? value : undefined
      case 'object':
        if (value === null) return undefined
        return Array.isArray(value) ? (writeList(value) ?? writeJson(value)) : writeJson(value)
      default:
        return undefined
    }
  }

  /** A list of texts, numbers or booleans; undefined for any other. */
  function writeList(list: readonly unknown[]): AttributeValue | undefined {
    if (list.every(item => typeof item === 'boolean')) return [...list]
    if (list.every(item => typeof item === 'number' && Number.isFinite(item))) return [...list] as number[]
    if (!list.every(item => typeof item === 'string')) return undefined
    const texts: string[] = []
    let left = charactersMax
    for (const item of list) {
      const text = writeText(item)
      left -= text.length
      if (left < 0) break
      texts.push(text)
    }
    return texts
  }

  return values => {
    const attributes: SpanAttributes = {}
    for (const name in values) {
      if (!content && isContent(name)) continue
      const value = writeValue(values[name])
      if (value !== undefined) attributes[name] = value
    }
    return attributes
  }
}

function isContent(name: string): boolean {
  return CONTENT_KEYS.has(name) || name.endsWith('.extensions') || name.endsWith('_extensions')
}
