// Gives a provider the reasoning of its own earlier turns back, in the member in which it gave it: several refuse a turn with calls
// without it (decisions.md 81). Reasoning of other providers, which has no such name, is not sent.

import type { JsonObject, NormalizedMessage } from '../../../normalized/index.ts'

type Turn = Pick<NormalizedMessage, 'content'>

const MEMBERS: ReadonlySet<string> = new Set(['reasoning_content', 'reasoning'])

/** The members of a message that hold its reasoning; none where the provider put it into the content, or did not give it. */
export function writeReasoning(message: Turn): JsonObject {
  const written: Record<string, string> = {}
  for (const { name, text } of listThoughts(message)) {
    if (!MEMBERS.has(name)) continue
    const before = written[name]
    written[name] = before === undefined ? text : `${before}\n${text}`
  }
  return written
}

/** The content of a message with the thinking that the provider put among its parts; undefined where there is none. */
export function writeThinkingParts(
  message: Turn,
  content: string | JsonObject[] | undefined
): JsonObject[] | undefined {
  const thoughts = listThoughts(message).flatMap(({ name, text }) =>
    name === 'content' ? [{ type: 'thinking', thinking: [{ type: 'text', text }] }] : []
  )
  if (thoughts.length === 0) return undefined
  if (typeof content !== 'string') return [...thoughts, ...(content ?? [])]
  return content === '' ? thoughts : [...thoughts, { type: 'text', text: content }]
}

/** The thoughts that the provider named. Some clients send the pieces of one as parts, and its state with the last of them. */
function listThoughts({ content }: Turn): Array<{ name: string; text: string }> {
  const thoughts: Array<{ name: string; text: string }> = []
  let pieces = ''
  for (const part of content) {
    if (part.type !== 'reasoning') {
      pieces = ''
      continue
    }
    pieces += part.text
    const name = part.state?.chat_compatible?.reasoningName
    if (name !== undefined && pieces !== '') thoughts.push({ name, text: pieces })
    if (part.state !== undefined) pieces = ''
  }
  return thoughts
}
