// What the suites of this folder need to know about a kind of external provider: its wire, its
// paths and its expected bodies.

import type { Test } from 'tap'
import type { Emulator } from '../../../../ops/emulator/server.ts'
import type { AliasOptions } from '../../../support/profile-gateway.ts'
import type { RecordedRequest } from '../../agents/recorded.ts'
import type { FamilyName, Loose } from '../families.ts'

/** A provider that demands a key, and one that accepts no credential. */
export const SEATS = ['keyed', 'keyless'] as const
export type Seat = (typeof SEATS)[number]

/** The aliases that every row has. */
export interface Aliases extends Record<Seat, string> {
  disabled: string
  blocked: string
  /** Declares the base features, text and generation controls. */
  plain: string
  /** At most 40 tokens of output. */
  small: string
}

/**
 * A directive of the embedded upstream that breaks a response, and the detailed id of the fault in
 * the log.
 */
export type BrokenResponse = readonly [directive: string, id: string]

/** Responses that the embedded upstream breaks in the way of these ids. */
export function breakBy(...ids: string[]): BrokenResponse[] {
  return ids.map(id => [`[[malformed:${id}]]`, id])
}

/** Breaks of a stream that every wire has; their fault is no id of a wire. */
export const COMMON_BREAKS: readonly BrokenResponse[] = [
  ['[[errframe]]', ''],
  ['[[die]]', ''],
  ['[[noeof]]', ''],
  ['[[badframe]]', '']
]

/** How failures look on the wire. */
export interface ProviderFailures {
  /** The body of an error response. */
  writeError(status: number, message: string): object
  /** Whole responses that break the rules of the wire. */
  responses: readonly BrokenResponse[]
  /** As `responses`; the client of the same protocol judges them itself. */
  translatedResponses: readonly BrokenResponse[]
  /** Streams that break behind their first delta. */
  streams: readonly BrokenResponse[]
  /** As `streams`; the client of the same protocol judges them itself. */
  translatedStreams: readonly BrokenResponse[]
  /** Directives that break a stream in front of its first delta. */
  streamStarts: readonly string[]
}

/** Members that some clients send, under one name for all protocols. */
export interface Generation {
  temperature?: number
  topP?: number
  topK?: number
  limit?: number
  stop?: readonly string[]
  seed?: number
}

/** A call of a provider's turn in the history of a request. */
export interface RepeatedCall {
  id: string | undefined
  name: string
  arguments: unknown
}

/** A question, a turn of the provider and the results of its calls, as a provider receives them. */
export interface RepeatedTurn {
  question: string
  text: string
  calls: RepeatedCall[]
  results: Array<{ id: string | undefined; value: unknown }>
  /** The provider's turn as its wire has it. */
  turn: Loose
}

export interface Provider {
  /** In the names of the tests, and the prefix of the aliases. */
  name: 'chat' | 'messages' | 'content' | 'responses'
  kind: 'chat_compatible' | 'messages_compatible' | 'content_compatible'
  /** Further members of the profile. */
  more?: object
  /** The reviewed policy of a profile whose provider is not on this machine. */
  networkPolicy: string
  /**
   * The client protocol of the wire: a body of this protocol reaches the provider as the client
   * sent it.
   */
  passes: FamilyName
  aliases: Aliases
  /** The models of the providers. */
  models: Record<Seat, string>
  /** Further aliases of the profile with a key. */
  moreAliases: readonly AliasOptions[]
  key: string
  /** The base URL of a provider with this name; that of the keyless one ends with the version. */
  baseUrl(emulator: Emulator, seat: Seat, name: string): string
  /** The path and the query of a chat below `/<wire>/<name>`. */
  chatPath(model: string, isStream: boolean): string
  /** The headers of a call, without those of the transport. */
  writeHeaders(key: string | undefined): Record<string, string>

  /** The body of a text, as the provider receives it from a client of the family. */
  writeText(text: string, options: { family: FamilyName; model: string; isStream: boolean }): object
  /** The parts of the first turn of a user. */
  readQuestion(body: Loose): Loose[]
  writeTextPart(text: string): object
  writeImagePart(mediaType: string, data: string): object
  /** The members that demand structured output. */
  readFormat(body: Loose): unknown
  writeFormat(schema: object): object
  readGeneration(body: Loose): Generation
  /** The members of `Generation` that are refused, because the wire has no place for them. */
  refusedGeneration: ReadonlyArray<keyof Generation>
  /** Those that the wire has no place for, and that do not fail a request; absent for none. */
  unsentGeneration?: ReadonlyArray<keyof Generation>
  /**
   * Whether a Responses client may ask for summaries of the reasoning; otherwise that is refused.
   */
  hasSummaries: boolean
  /** Checks the members that demand the reasoning which `reasoningWishes` asks for. */
  checkReasoning(t: Test, body: Loose, family: FamilyName): void
  /** The members that demand a call, and a call of this function. */
  readToolChoice(body: Loose): unknown
  requiredCall: unknown
  writeNamedCall(name: string): unknown
  /** What a client sees as the end of a response for every finish reason of the wire. */
  finishes: Record<string, Record<FamilyName, string>>

  readTurn(body: Loose): RepeatedTurn
  /** Checks the members that refuse several calls in one response. */
  checkRefusal(t: Test, body: Loose): void
  failures: ProviderFailures

  /**
   * Checks that a recorded request arrived with its functions, turns and images, or as it was where
   * it passes.
   */
  checkAgentRequest(t: Test, request: RecordedRequest, body: Loose): void
}

export function nameAliases(name: string): Aliases {
  return {
    keyed: `${name}/keyed`,
    keyless: `${name}/keyless`,
    disabled: `${name}/disabled`,
    blocked: `${name}/blocked`,
    plain: `${name}/plain`,
    small: `${name}/small`
  }
}
