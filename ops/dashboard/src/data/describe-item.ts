// An item of a stored response in words: who says it, and what it says. Items are written by clients and providers, so any member may be
// of any kind.
import { formatBytes, formatText, UNKNOWN } from './format.ts'

export interface DescribedItem {
  /** Such as `user` or `function_call`. */
  readonly who: string
  readonly text: string
}

const RESULT_TYPES = ['function_call_output', 'custom_tool_call_output']

export function describeItem(item: unknown): DescribedItem {
  const {
    type,
    role,
    content,
    summary,
    name,
    arguments: given,
    input,
    output,
    call_id: callId,
    omitted_bytes: omitted
  } = readObject(item)
  if (typeof omitted === 'number') return { who: UNKNOWN, text: `${formatBytes(omitted)}, too large to be shown` }
  if (typeof role === 'string') return { who: role, text: readTexts(content) }
  const who = formatText(type)
  if (type === 'reasoning') return { who, text: readTexts(summary) || formatText(null) }
  if (type === 'function_call' || type === 'custom_tool_call') {
    return { who, text: `${formatText(name)} ${formatText(given ?? input)}` }
  }
  if (RESULT_TYPES.includes(String(type))) return { who, text: `${formatText(callId)}: ${readTexts(output)}` }
  return { who, text: JSON.stringify(item) ?? '' }
}

/** A text, or the texts of parts; a part without one is named by its type. */
function readTexts(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return formatText(content)
  return content
    .map(part => {
      const { text, refusal, type } = readObject(part)
      return typeof text === 'string' ? text : typeof refusal === 'string' ? refusal : `[${formatText(type)}]`
    })
    .join('\n')
}

function readObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
