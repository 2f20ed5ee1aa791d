// The jobs of the translation, inline or in a thread, and the form in which their results cross a thread boundary.

import type { ModelScope } from '../../shared/keys/model-scope.ts'
import type { ChatConfiguration } from '../bridge/plan-chat.ts'
import type { TokenEstimate } from '../limits/estimate-tokens.ts'
import type {
  ClientProtocol,
  ErrorCode,
  GatewayErrorOptions,
  JsonObject,
  NormalizedRequest,
  NormalizedResponse
} from '../normalized/index.ts'
import type { EmbeddingsEncoding, ReadContext, ResponseContext } from '../protocols/client-face.ts'
import type { ApiMode, ResponseHead } from '../protocols/provider-face.ts'
import type { EmbeddingsOperation, ProviderFaces, TokenCountProtocol } from '../protocols/registry.ts'
import type { ChatCall, ResourceCall } from '../providers/types.ts'
import type { CallDescription, DescriptionOptions } from './call-description.ts'
import type { Targeting } from './targeting.ts'

/** What every job that begins with a client's body has. */
interface RequestJob {
  apiMode: ApiMode
  /** The client's body, decompressed. */
  bytes: Uint8Array
  /** The facts of the request that are not in its body. */
  context: ReadContext
  /** The models that the key of the request may use (keys.md 2); absent: all of them. */
  scope?: ModelScope
  /** Describe the request for observers. */
  description?: DescriptionOptions | undefined
  /** Estimate the tokens of the request, for a key with a limit of tokens (keys.md 2). */
  estimatesTokens?: boolean | undefined
}

/** A job of a client, whose key is always asked for its models. */
export type Scoped<Request extends RequestJob> = Request & { scope: ModelScope }

export interface ChatJob extends RequestJob {
  protocol: ClientProtocol
}

/** What observers are told of a request, where its job asks for it. */
interface Described {
  description?: CallDescription
}

interface Estimated {
  /** Where the job asks for it. */
  tokenEstimate?: TokenEstimate
}

/** Of an alias with several deployments: how the call is sent to each of them. */
interface Targeted {
  targeting?: Targeting
}

export interface TranslatedChat extends ChatCall, Described, Estimated, Targeted {
  /** Without its messages once it came back from a thread: no later step needs them. */
  request: NormalizedRequest
  /** The client's fields that the route leaves out; absent where it sends all of them (decisions.md 70). */
  leftOut?: readonly string[]
}

/** A whole response to write in the client's form. */
export interface ChatResponseJob {
  protocol: ClientProtocol
  response: NormalizedResponse
  context: Omit<ResponseContext, 'now' | 'seal'>
  /** Seconds since the epoch. */
  completedAt: number
}

export interface TokenCountJob extends RequestJob {
  protocol: TokenCountProtocol
}

export interface EmbeddingsJob extends RequestJob {
  operation: EmbeddingsOperation
}

interface TranslatedTexts extends Described, Targeted {
  extraHeaders: JsonObject | undefined
  /** The model as the client wrote it; undefined where it named none. */
  requestedModel: string | undefined
  /** The client's fields without effect, each once (decisions.md 70). */
  leftOut: readonly string[]
}

/** Without a call when there is no text to count, or when the gateway has counted them itself. */
export interface TranslatedTokenCount extends TranslatedTexts, Pick<ResourceCall, 'plan'> {
  call?: ResourceCall
  /** How many texts the call has. */
  count: number
  /** The gateway's own count, for a provider that cannot count. */
  estimate?: number
  /** The call has the client's own body, and the client gets the provider's own response (`SameWireCodec`). */
  isSameWire?: true
}

export interface TranslatedEmbeddings extends TranslatedTexts, Estimated, Pick<ResourceCall, 'plan'> {
  /** At least one; several where the wire takes fewer texts at once than the request has. */
  calls: ResourceCall[]
  /** How many texts each call has. */
  counts: number[]
  /** For the writer of the response. */
  answer: { model: string; encoding: EmbeddingsEncoding }
}

/** What every job that begins with the bytes of a provider's response has. */
interface ResponseJob extends Pick<ResourceCall, 'plan'> {
  bytes: Uint8Array
  head: ResponseHead
}

export interface TokenCountResponseJob extends ResponseJob, Pick<TranslatedTokenCount, 'count' | 'isSameWire'> {
  protocol: TokenCountProtocol
}

/** `bytes` is a list of the responses where there were several calls. */
export interface EmbeddingsResponseJob extends ResponseJob, Pick<TranslatedEmbeddings, 'answer' | 'counts'> {
  operation: EmbeddingsOperation
}

/** A body for the client: JSON text, or its bytes where a thread has written it. */
export interface WrittenResponse {
  body: string | Uint8Array
  headers?: Readonly<Record<string, string>>
}

export interface WrittenEmbeddings extends WrittenResponse {
  /** null when the provider reported none. */
  promptTokens: number | null
}

/** Token ids of one text, and the model whose tokenizer made them. */
export interface TokenDecodingJob {
  model: string
  texts: number[][]
}

/** Texts to count, and the model that they are meant for. */
export interface TokenEstimateJob {
  model: string | undefined
  texts: string[]
}

/** What the tasks use besides their jobs. */
export interface TaskEnvironment {
  settings: ChatConfiguration
  faces: ProviderFaces
  /** Decodes token ids into texts. Rejects with `GatewayError`. */
  decodeTokens(job: TokenDecodingJob): Promise<string[]>
  /** Counts the tokens of all texts together. Rejects with `GatewayError`. */
  estimateTokens(job: TokenEstimateJob): Promise<number>
}

/** An expected failure that crosses a thread boundary as plain data, because an `Error` object would lose its code. */
export interface TransferredError extends GatewayErrorOptions {
  code: ErrorCode
  message: string
}

export type TaskResult<Value> = { ok: true; value: Value } | { ok: false; error: TransferredError }
