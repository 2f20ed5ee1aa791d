// A chat request in one form for all wires, from which a response is planned.
import type { JsonObject, JsonValue } from './json.ts'
import { countTokens } from './tokens.ts'

/** The native wires v1 and v2, and those of OpenAI (chat completions and Responses), Anthropic and Google. */
export type ChatDialect = 'v1' | 'v2' | 'chat' | 'messages' | 'content' | 'responses'

export interface ChatTurn {
  role: 'system' | 'user' | 'assistant' | 'result'
  text: string
  /** Function results of this message; a value that is JSON text is parsed. */
  results: Array<{ name: string; value: JsonValue }>
  fileCount: number
}

export type ToolChoice =
  | { kind: 'auto' }
  | { kind: 'none' }
  | { kind: 'any' }
  | { kind: 'function'; name: string; partialArguments: JsonObject }
  | { kind: 'builtin'; name: string }

export type OutputFormat = { kind: 'text' } | { kind: 'json'; schema: JsonValue } | { kind: 'regex'; regex: string }

export interface DeclaredFunction {
  name: string
  parameters: JsonValue
}

export interface ChatRequest {
  dialect: ChatDialect
  /** The model id of the request, unchanged. */
  model: string
  turns: ChatTurn[]
  functions: DeclaredFunction[]
  builtins: string[]
  choice: ToolChoice
  allowsParallelCalls: boolean
  output: OutputFormat
  wantsReasoning: boolean
  isStream: boolean
  tokensMax: number | null
  /** Texts that end the response in front of them, on the wires that have them. */
  stops?: string[]
  /** The client wants no text of the reasoning, only the signature of it. */
  hidesReasoning?: boolean
  topLogprobs: number
}

/** Summary of the turns, from which the response is planned. */
export interface Conversation {
  /** Text of the last user message. */
  prompt: string
  /** Earlier user texts, oldest first. */
  earlierPrompts: string[]
  fileCount: number
  /** Number of groups of function results after the last user message. */
  round: number
  /** Results of the last group. */
  results: Array<{ name: string; value: JsonValue }>
  tokens: number
}

const CONVERSATION_TOKENS = 7
const TURN_TOKENS = 3

/** Finds the last user message, and counts the rounds of calls and results after it. */
export function readConversation(turns: readonly ChatTurn[]): Conversation {
  const conversation: Conversation = {
    prompt: '',
    earlierPrompts: [],
    fileCount: 0,
    round: 0,
    results: [],
    tokens: CONVERSATION_TOKENS
  }
  let hasPrompt = false
  let isInResults = false
  for (const turn of turns) {
    conversation.tokens += TURN_TOKENS + countTokens(turn.text)
    if (turn.role === 'user') {
      if (hasPrompt) conversation.earlierPrompts.push(conversation.prompt)
      hasPrompt = true
      conversation.prompt = turn.text
      conversation.fileCount = turn.fileCount
      conversation.round = 0
      conversation.results = []
    }
    if (turn.role === 'result') {
      if (!isInResults) {
        conversation.round++
        conversation.results = []
      }
      conversation.results.push(...turn.results)
    }
    isInResults = turn.role === 'result'
  }
  return conversation
}
