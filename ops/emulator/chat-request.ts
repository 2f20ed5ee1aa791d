// A chat request without its wire: what v1, v2 and the chat-completions wire have in common for planning an answer.
import type { JsonObject, JsonValue } from './json.ts'
import { countTokens } from './tokens.ts'

export type ChatDialect = 'v1' | 'v2' | 'chat'

export interface ChatTurn {
  role: 'system' | 'user' | 'assistant' | 'result'
  text: string
  /** Function results of this message; the value is parsed where it was JSON text. */
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
  /** The model id as the client gave it. */
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
  topLogprobs: number
}

/** The turns as the scenario looks at them. */
export interface Conversation {
  /** Text of the last user message. */
  prompt: string
  /** Earlier user texts, oldest first. */
  earlierPrompts: string[]
  fileCount: number
  /** How many groups of function results follow the last user message. */
  round: number
  /** Results of the last group. */
  results: Array<{ name: string; value: JsonValue }>
  tokens: number
}

const CONVERSATION_TOKENS = 7
const TURN_TOKENS = 3

/** Finds the prompt, and how far the exchange of calls and results has got since. */
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
