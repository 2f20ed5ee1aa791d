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

export interface Turn {
  role: 'user' | 'assistant'
  content: string
}

export interface ChatBody {
  model: string
  isStream: boolean
  /** The version of the upstream's API that the path selects. */
  apiMode?: 'v1' | 'v2'
  /** The conversation in the form of the family. */
  messages: object[]
  /** Further members of the body. */
  members?: object
}

const SENTENCE = 'The gateway translates requests between protocols. '
const INSTRUCTION = 'You are a terse assistant.'
const TURNS = 6

/** A request on the native v1 contract in the form of a family. */
export function writeRequest(family: Family, { model, isStream, bytes }: BodyShape): FamilyRequest {
  return writeChat(family, { model, isStream, messages: listTurns(bytes).map(turn => writeTurn(family, turn)) })
}

/** A message of text in the form of a family. */
export function writeTurn(family: Family, { role, content }: Turn): object {
  if (family !== 'content') return { role, content }
  return { role: role === 'assistant' ? 'model' : role, parts: [{ text: content }] }
}

/** A chat request in the form of a family. */
export function writeChat(family: Family, chat: ChatBody): FamilyRequest {
  const { model, isStream, apiMode = 'v1', messages, members = {} } = chat
  const stream = isStream ? { stream: true } : {}
  const write = (path: string, body: object) => ({ path: `/${apiMode}${path}`, body: JSON.stringify(body) })
  switch (family) {
    case 'completions': {
      const all = [{ role: 'system', content: INSTRUCTION }, ...messages]
      return write('/chat/completions', { model, messages: all, temperature: 0.7, ...stream, ...members })
    }
    case 'responses':
      return write('/responses', {
        model,
        instructions: INSTRUCTION,
        input: messages,
        temperature: 0.7,
        ...stream,
        ...members
      })
    case 'messages': {
      const body = { model, max_tokens: 256, system: INSTRUCTION, messages, temperature: 0.7, ...stream, ...members }
      return write('/messages', body)
    }
    case 'content': {
      const operation = isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'
      return write(`/models/${model}:${operation}`, {
        contents: messages,
        systemInstruction: { parts: [{ text: INSTRUCTION }] },
        generationConfig: { temperature: 0.7 },
        ...members
      })
    }
  }
}

function listTurns(bytes: number): Turn[] {
  const length = Math.round(bytes / (TURNS + 1))
  const content = writeText(length)
  const turns = Array.from({ length: TURNS }, (_, turn) => ({
    role: turn % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content
  }))
  return [...turns, { role: 'user', content: 'And now?' }]
}

/** Plain text of a length. */
export function writeText(length: number): string {
  return SENTENCE.repeat(Math.ceil(length / SENTENCE.length)).slice(0, length)
}
