// What the tests of recorded requests change in them: the model, and the members that an alias refuses.

import { type RecordedRequest, readRecordedRequests } from '../agents/recorded.ts'
import type { Loose } from './families.ts'

/** The recorded requests of chats. */
export function readRecordedChats(): RecordedRequest[] {
  return readRecordedRequests().filter(
    ({ method, path }) => method === 'POST' && !/count_tokens|:countTokens/.test(path)
  )
}

/** A result of a tool that is no text: the contract calls it invalid there. */
export const INVALID_RESULT = /^input\[\d+\]\.output$/
export const REFUSALS_MAX = 12

/** The request with this alias as its model. */
export function nameAlias(request: RecordedRequest, alias: string): RecordedRequest {
  if (request.family === 'content') {
    return { ...request, path: request.path.replace(/models\/[^:]+/, `models/${alias}`) }
  }
  return { ...request, body: { ...request.body, model: alias } }
}

/** Removes the member of a path such as `tools[3].type`; of a list the whole entry. */
export function remove(body: Loose, path: string): void {
  const steps = path.split(/[.[\]]+/).filter(step => step !== '')
  const entry = steps.findLastIndex(step => /^\d+$/.test(step))
  // An entry whose kind or state is refused goes as a whole; any other member goes alone.
  const kept = entry === -1 ? steps : steps.slice(0, entry + 1)
  const last = kept.pop() ?? ''
  const parent = kept.reduce((value, step) => value[step], body)
  if (Array.isArray(parent)) parent.splice(Number(last), 1)
  else delete parent[last]
}

/** The call of a result must keep one. */
export function writeResultAsText(body: Loose, path: string): void {
  const item = body.input[Number(/\d+/.exec(path)?.[0])]
  item.output = JSON.stringify(item.output.filter(({ type }: Loose) => type === 'input_text'))
}
