// The OpenAI Responses wire under `/responses-provider`: writes the same plans as a `chat_compatible` provider with `wire: responses` does.
import { randomUUID } from 'node:crypto'
import { adjustPayload, type ChatWire, type ReadScope, type ResponseContext } from '../chat-wire.ts'
import { UpstreamError } from '../errors.ts'
import { type Exchange, sendJson } from '../exchange.ts'
import type { EmulatorState } from '../state.ts'
import { failureCode, sendResponsesError } from './errors.ts'
import { writeMalformedResponse } from './malformed.ts'
import { type Item, listItems, type ResponsesCall, writeEnd, writeHead } from './message.ts'
import { readResponses } from './read.ts'
import { writeResponsesFrames } from './stream.ts'

/** Creates the Responses wire for one call: its response repeats the request and may be stored. */
export function createResponsesChat(): ChatWire {
  const id = `resp_${randomUUID().replaceAll('-', '')}`
  let call: ResponsesCall | undefined
  let scope: ReadScope | undefined

  function readCall(): ResponsesCall {
    if (call === undefined) throw new Error('the request was not read')
    return call
  }

  function store(context: ResponseContext, body: Item, output: readonly Item[]): void {
    const { read } = readCall()
    if (!read.isStored) return
    const { plan } = context
    const turn = { role: 'assistant' as const, text: plan.text, results: [], fileCount: 0 }
    // Reasoning stays with the service: the next turn gets it without its encrypted content.
    const kept = output.filter(({ type }) => type !== 'reasoning')
    scope?.responses.add(id, { body, items: [...read.items, ...kept], turns: [...read.turns, turn] })
  }

  return {
    stateIdForm: null,
    read(body, given) {
      scope = given
      const read = readResponses(body, given)
      call = { read, id }
      return { request: read.request, stored: null, includeUsage: true }
    },
    write(context) {
      const output = listItems(context, readCall())
      const body = { ...writeHead(context, readCall()), ...writeEnd(context), output }
      store(context, body, output)
      return adjustPayload(body, context.plan.step)
    },
    writeMalformed: writeMalformedResponse,
    writeFrames(context) {
      const frames = writeResponsesFrames(context, readCall())
      const last = frames.at(-1)
      const parsed = last?.kind === 'finish' ? JSON.parse(last.data) : undefined
      if (parsed?.response?.output !== undefined) store(context, parsed.response, parsed.response.output)
      return frames
    },
    writeErrorFrame: ({ status, message }) => ({
      event: 'error',
      data: JSON.stringify({ type: 'error', sequence_number: 0, code: failureCode(status), message, param: null }),
      kind: 'delta'
    }),
    sendError: sendResponsesError
  }
}

/** Sends a stored response. @throws UpstreamError 404 */
export function sendStoredResponse(exchange: Exchange, id: string, { responses }: EmulatorState): void {
  const found = responses.find(id)
  if (found === undefined) throw responseNotFound(id)
  sendJson(exchange, 200, found.body)
}

/** Removes a stored response. @throws UpstreamError 404 */
export function removeStoredResponse(exchange: Exchange, id: string, { responses }: EmulatorState): void {
  if (!responses.remove(id)) throw responseNotFound(id)
  sendJson(exchange, 200, { id, object: 'response', deleted: true })
}

function responseNotFound(id: string): UpstreamError {
  return new UpstreamError(404, `Response with id '${id}' not found.`)
}
