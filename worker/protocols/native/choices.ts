// Reads the list of choices that v1 responses consist of. v2 streams may contain frames in this
// form too (decisions.md 61).

import { isJsonObject } from '../../normalized/index.ts'
import { hasOnlyMembers } from '../../performance/repeated-frame.ts'
import type { Payload } from './response-state.ts'

/** The gateway requests one choice, so further choices are ignored. */
export function findFirstChoice({ choices }: Payload): Payload | undefined {
  return Array.isArray(choices) ? choices.find(isFirst) : undefined
}

/** The content of a choice: a delta in a stream, a message in a whole response. */
export function readChoiceContent(choice: Payload, member: 'message' | 'delta'): Payload | undefined {
  const content = isJsonObject(choice[member]) ? choice[member] : choice[member === 'delta' ? 'message' : 'delta']
  return isJsonObject(content) ? content : undefined
}

/** True when the payload has a choice with content or a finish reason. */
export function hasReadableChoice(payload: Payload): boolean {
  const choice = findFirstChoice(payload)
  if (choice === undefined) return false
  const { finish_reason: word } = choice
  return readChoiceContent(choice, 'delta') !== undefined || (typeof word === 'string' && word !== '')
}

const PLAIN_MEMBERS = new Set(['choices', 'created', 'model', 'object'])
const PLAIN_CHOICE_MEMBERS = new Set(['delta', 'index'])
const PLAIN_DELTA_MEMBERS = new Set(['content'])

/** The text of a payload of one choice that adds only text to the response; undefined for any other payload. */
export function readPlainChoice(payload: Payload): string | undefined {
  const { choices } = payload
  if (!hasOnlyMembers(payload, PLAIN_MEMBERS) || !Array.isArray(choices) || choices.length !== 1) return undefined
  const [choice] = choices
  if (!hasOnlyMembers(choice, PLAIN_CHOICE_MEMBERS) || !isFirst(choice)) return undefined
  const { delta } = choice
  if (!hasOnlyMembers(delta, PLAIN_DELTA_MEMBERS)) return undefined
  return typeof delta.content === 'string' ? delta.content : undefined
}

function isFirst(choice: unknown): choice is Payload {
  return isJsonObject(choice) && (choice.index === undefined || choice.index === 0)
}
