// A request of the limited key in every family, what its provider answers, and ways in which it ends.
import type { ServerResponse } from 'node:http'
import type { StubRequest } from '../../worker/providers/support/stub-upstream.ts'
import { type Family, type FamilyName, families, openStream, type Question } from '../bridge/families.ts'
import { ALIAS, answerChat, auth, type ChatAnswer, type LimitedGateway, wantsStream } from './support.ts'

/** 100 tokens by the estimate. */
export const PROMPT = 'p'.repeat(400)
/** 50 tokens by the estimate. */
export const TEXT = 't'.repeat(200)

/** A response of chat completions, or an error. */
export type Answer = Omit<ChatAnswer, 'isStream'> | { status: number }

/** Each family, whole and streamed. */
export const forms = families.flatMap(family =>
  [false, true].map(isStream => ({ family, isStream, name: `${family.name}, ${isStream ? 'streamed' : 'whole'}` }))
)

export function familyOf(name: FamilyName): Family {
  const family = families.find(family => family.name === name)
  if (family === undefined) throw new Error(`There is no family ${name}.`)
  return family
}

export function question(changes: Partial<Question> = {}): Question {
  return { model: ALIAS, prompt: PROMPT, headers: auth(), ...changes }
}

/** Answers on the wire of chat completions. */
export function answerWith(answer: Answer, request: StubRequest, response: ServerResponse): void {
  if ('status' in answer) response.writeHead(answer.status, { 'content-type': 'application/json' }).end('{}')
  else answerChat(response, { ...answer, isStream: wantsStream(request) })
}

/** Disconnects behind the first part of a stream. Resolves with the status, also where there is no stream. */
export async function leaveStream({ url }: Pick<LimitedGateway, 'url'>, family: Family): Promise<number> {
  const abortion = new AbortController()
  const response = await openStream(url, family, question({ isStream: true }), abortion.signal)
  await response.body?.getReader().read()
  abortion.abort()
  return response.status
}

/**
 * Streams `TEXT` on the wire of messages: with 70 tokens of input in its first event, and 33 of output in its last ones.
 * @param isBroken the stream breaks off behind its text.
 */
export function streamMessages(response: ServerResponse, isBroken: boolean): void {
  const event = (data: { type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
  const usage = { input_tokens: 70, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'exact-model-1', content: [], usage }
  const begun = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } }
  ]
  const end = [
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 33 } },
    { type: 'message_stop' }
  ]
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(begun.map(event).join(''))
  if (isBroken) setImmediate(() => response.destroy())
  else response.end(end.map(event).join(''))
}
