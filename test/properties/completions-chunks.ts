// Checks the bytes of a completions stream for everything that an SDK relies on: every member that its types require, and the rules
// that its accumulation depends on.

import type { CompletionsChunk, CompletionsUsage } from '../../worker/protocols/completions/client/schema.ts'
import type { ErrorEnvelope } from '../../worker/protocols/shared/completions-family/error-envelope.ts'

export interface ReadStream {
  chunks: CompletionsChunk[]
  error: ErrorEnvelope['error'] | undefined
}

/** Reads the frames of a whole stream. Throws an error that names the first broken rule. */
export function readStrictly(text: string): ReadStream {
  check(text.endsWith('\n\n'), 'the stream ends with a blank line')
  const frames = text.slice(0, -2).split('\n\n')
  for (const frame of frames) check(/^data: [^\n]+$/.test(frame), 'a frame is one data line')
  const payloads = frames.map(frame => frame.slice('data: '.length))
  // A failed stream does not end well (decisions.md 108).
  const isFailed = payloads.at(-1)?.startsWith('{"error"') === true
  check(isFailed || payloads.pop() === '[DONE]', '[DONE] is last, unless the stream failed')
  check(!payloads.includes('[DONE]'), '[DONE] occurs once')
  const documents: Array<CompletionsChunk | ErrorEnvelope> = payloads.map(payload => JSON.parse(payload))
  const last = documents.at(-1)
  const error = last !== undefined && 'error' in last ? last.error : undefined
  const chunks = (error === undefined ? documents : documents.slice(0, -1)) as CompletionsChunk[]
  for (const chunk of chunks) checkChunk(chunk, chunks[0])
  checkChoices(chunks, error === undefined)
  checkUsage(chunks)
  checkCalls(chunks)
  return { chunks, error }
}

function checkChunk(chunk: CompletionsChunk, first: CompletionsChunk | undefined): void {
  check(!('error' in chunk), 'an error is the last frame')
  check(chunk.object === 'chat.completion.chunk', 'object is chat.completion.chunk')
  for (const member of ['id', 'created', 'model', 'system_fingerprint'] as const) {
    check(chunk[member] !== undefined && chunk[member] === first?.[member], `${member} is the same in every chunk`)
  }
  check(Array.isArray(chunk.choices) && chunk.choices.length <= 1, 'there is at most one choice')
}

function checkChoices(chunks: readonly CompletionsChunk[], isComplete: boolean): void {
  const choices = chunks.flatMap(chunk => chunk.choices)
  for (const [position, choice] of choices.entries()) {
    check(choice.index === 0, 'the choice has index 0')
    check(choice.logprobs === null, 'logprobs is null')
    check(
      choice.delta.role === (position === 0 ? 'assistant' : undefined),
      'the first chunk has the role, no other has'
    )
    const isLast = isComplete && position === choices.length - 1
    check(typeof choice.finish_reason === (isLast ? 'string' : 'object'), 'only the last choice has a finish reason')
    if (isLast) check(Object.keys(choice.delta).length === 0, 'the finish chunk has an empty delta')
    check(
      Object.values(choice.delta).every(value => value !== null),
      'a delta has no null members'
    )
  }
  check(!isComplete || choices.length >= 2, 'a whole stream has content and a finish')
}

function checkUsage(chunks: readonly CompletionsChunk[]): void {
  const withUsage = chunks.filter(({ usage }) => usage !== null && usage !== undefined)
  const hasNull = chunks.some(({ usage }) => usage === null)
  check(!hasNull || chunks.every(chunk => 'usage' in chunk), 'the usage is null on all chunks without one, or on none')
  check(
    withUsage.every(({ choices }) => choices.length === 0),
    'a chunk with usage has no choices'
  )
  check(
    withUsage.length === 0 || hasNull,
    'the usage is there only where the client asked, so that the others have null'
  )
  check(withUsage.length <= 1, 'the usage occurs at most once')
  check(withUsage.length === 0 || withUsage[0] === chunks.at(-1), 'the usage is on the last chunk')
  for (const [position, chunk] of chunks.entries()) {
    const isEmpty = chunk.choices.length === 0
    check(!isEmpty || (position === chunks.length - 1 && withUsage.length > 0), 'only a usage chunk has no choice')
    if (chunk.usage !== null && chunk.usage !== undefined) checkCounts(chunk.usage)
  }
}

function checkCounts(usage: CompletionsUsage): void {
  const counts = [
    usage.prompt_tokens,
    usage.completion_tokens,
    usage.total_tokens,
    usage.prompt_tokens_details.cached_tokens,
    usage.completion_tokens_details.reasoning_tokens
  ]
  check(
    counts.every(count => typeof count === 'number'),
    'every token count is a number'
  )
}

function checkCalls(chunks: readonly CompletionsChunk[]): void {
  let startedCount = 0
  for (const call of chunks.flatMap(chunk => chunk.choices).flatMap(choice => choice.delta.tool_calls ?? [])) {
    const isNew = call.index === startedCount
    check(isNew || call.index === startedCount - 1, 'call indexes increase without gaps and never decrease')
    const { name, text } = 'custom' in call ? { ...call.custom, text: call.custom.input } : readFunctionDelta(call)
    const heads = [call.id, call.type, name]
    const isHeadCorrect = isNew ? heads.every(head => head !== undefined) : heads.every(head => head === undefined)
    check(isHeadCorrect, 'id, type and name are on the first delta of a call and on no other')
    check(typeof text === 'string', 'every delta of a call has arguments')
    if (isNew) startedCount += 1
  }
}

function readFunctionDelta(call: { function: { name?: string; arguments: string } }) {
  return { name: call.function.name, text: call.function.arguments }
}

function check(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new Error(`Broken: ${rule}.`)
}
