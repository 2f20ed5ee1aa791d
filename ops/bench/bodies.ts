// The same conversation in the words of each client family, so that what differs in cost is the family.

export type Family = 'completions' | 'responses' | 'messages' | 'content'

export interface BodyShape {
  /** Tells the benchmark's upstream how to answer. */
  model: string
  /** About the size of the conversation. */
  bytes: number
  isStream: boolean
}

export interface FamilyRequest {
  path: string
  body: string
}

const SENTENCE = 'The gateway translates requests between protocols. '
const INSTRUCTION = 'You are a terse assistant.'
const TURNS = 6

/** A request on the native v1 contract in the form of a family. */
export function writeRequest(family: Family, shape: BodyShape): FamilyRequest {
  const { model, isStream } = shape
  const turns = listTurns(shape.bytes)
  const stream = isStream ? { stream: true } : {}
  switch (family) {
    case 'completions': {
      const messages = [{ role: 'system', content: INSTRUCTION }, ...turns]
      return { path: '/v1/chat/completions', body: JSON.stringify({ model, messages, temperature: 0.7, ...stream }) }
    }
    case 'responses':
      return {
        path: '/v1/responses',
        body: JSON.stringify({ model, instructions: INSTRUCTION, input: turns, temperature: 0.7, ...stream })
      }
    case 'messages': {
      const body = { model, max_tokens: 256, system: INSTRUCTION, messages: turns, temperature: 0.7, ...stream }
      return { path: '/v1/messages', body: JSON.stringify(body) }
    }
    case 'content': {
      const contents = turns.map(({ role, content }) => ({
        role: role === 'assistant' ? 'model' : role,
        parts: [{ text: content }]
      }))
      const operation = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
      return {
        path: `/v1/models/${model}:${operation}`,
        body: JSON.stringify({
          contents,
          systemInstruction: { parts: [{ text: INSTRUCTION }] },
          generationConfig: { temperature: 0.7 }
        })
      }
    }
  }
}

function listTurns(bytes: number): Array<{ role: 'user' | 'assistant'; content: string }> {
  const length = Math.round(bytes / (TURNS + 1))
  const content = SENTENCE.repeat(Math.ceil(length / SENTENCE.length)).slice(0, length)
  const turns = Array.from({ length: TURNS }, (_, turn) => ({
    role: turn % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content
  }))
  return [...turns, { role: 'user', content: 'And now?' }]
}
