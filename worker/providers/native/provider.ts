// The native upstream for one credential: its token, its calls and its attachments, over connections that it may share.

import type { Logger } from '../../../shared/logging.ts'
import type { Secret } from '../../../shared/secret.ts'
import type { Settings } from '../../../shared/settings.ts'
import { assertNever } from '../../normalized/assert.ts'
import { GatewayError, toGatewayError } from '../../normalized/index.ts'
import type { MediaKind } from '../../protocols/native/media-types.ts'
import type { GuardedDownload } from '../egress/guarded-download.ts'
import { CallFailure, describeCause } from '../http/call-failure.ts'
import { type ChatDependencies, completeChat } from '../http/chat.ts'
import { streamChat } from '../http/chat-stream.ts'
import { createUpstreamClient } from '../http/client.ts'
import type { NativeTransport } from '../http/connections.ts'
import type { Gate } from '../http/gate.ts'
import type { Concealment } from '../http/redaction.ts'
import type { NativeProvider } from '../types.ts'
import type { UploadCache } from './attachments/upload-cache.ts'
import { createAttachmentUploader } from './attachments/uploader.ts'
import { embedTexts } from './embeddings.ts'
import { createFileCalls } from './files.ts'
import { listUpstreamModels } from './models.ts'
import type { CreateReader } from './reader.ts'
import { fetchOAuthToken, fetchPasswordToken, type TokenFetchOptions } from './token-fetch.ts'
import { createFixedTokenSource, createTokenSource, type TokenSource } from './token-source.ts'
import { countTextTokens } from './tokens.ts'

/** How calls are authorized. A given token goes first where there is also a way to get another. */
export type NativeCredential =
  | { type: 'oauth'; credentials: Secret; scope: string; givenToken?: Secret }
  | { type: 'password'; user: string; password: Secret; givenToken?: Secret }
  /** Nothing can be renewed; null sends no authorization at all. */
  | { type: 'fixed'; accessToken: Secret | null }

/** What all providers of a worker have in common. */
export interface SharedDependencies {
  settings: Settings
  log: Logger
  userAgent: string
  createReader: CreateReader
  download: GuardedDownload
  uploads: UploadCache<MediaKind>
  uploadGate: Gate
  concealment: Concealment
  now: () => number
  random: () => number
  onTokenFetched?: ((hasFailed: boolean) => void) | undefined
}

export interface ProviderOptions {
  shared: SharedDependencies
  transport: NativeTransport
  credential: NativeCredential
  /** Names the credential without revealing it. */
  identity: string
  /** Whether `close` and `destroy` end the connections: false when other providers use them. */
  ownsTransport: boolean
}

export function createProvider(options: ProviderOptions): NativeProvider {
  const { shared, transport } = options
  const { settings, log, now, random } = shared
  const { around, rethrow } = shared.concealment
  const lifetime = new AbortController()
  let isClosing = false

  const client = createUpstreamClient({
    transport,
    tokens: createTokens(options, lifetime.signal),
    retryPolicy: {
      retriesMax: settings.upstream.maxRetries,
      backoffSeconds: settings.upstream.retryBackoffFactor,
      statuses: settings.upstream.retryOnStatusCodes
    },
    userAgent: shared.userAgent,
    log,
    now,
    random,
    isClosing: () => isClosing
  })
  const files = createFileCalls(client)
  const chat: ChatDependencies = {
    client,
    files,
    attachments: createAttachmentUploader({
      files,
      download: shared.download,
      cache: shared.uploads,
      gate: shared.uploadGate,
      credentialIdentity: options.identity,
      limits: {
        audioBytesMax: settings.maxAudioFileSizeBytes,
        imageBytesMax: settings.maxImageFileSizeBytes,
        textBytesMax: settings.maxTextFileSizeBytes,
        audioAndImageBytesMax: settings.maxAudioImageTotalSizeBytes
      }
    }),
    createReader: shared.createReader,
    log,
    logsPayloads: settings.mode === 'DEV'
  }

  function endTokens(): void {
    isClosing = true
    lifetime.abort(new GatewayError('gateway_not_ready', { reason: 'gateway_shutting_down' }))
  }

  return {
    complete: (call, context) => completeChat(chat, call, context).catch(rethrow),
    stream: (call, context, sink) => streamChat(chat, call, context, around(sink)).catch(rethrow),
    embed: (call, context) => embedTexts(client, call, context).catch(rethrow),
    listModels: context => listUpstreamModels(client, context).catch(rethrow),
    countTokens: (call, context) => countTextTokens(client, call, context).catch(rethrow),
    downloadFile: (fileId, context) => files.download(fileId, context).catch(rethrow),
    async close() {
      // A token that is still fetched has nobody left who waits for it, and would hold up the end of the connections.
      endTokens()
      if (options.ownsTransport) await transport.close()
    },
    async destroy() {
      endTokens()
      if (options.ownsTransport) await transport.destroy()
    }
  }
}

function createTokens({ shared, transport, credential }: ProviderOptions, signal: AbortSignal): TokenSource {
  if (credential.type === 'fixed') return createFixedTokenSource(credential.accessToken)
  const fetchOptions: TokenFetchOptions = { transport, userAgent: shared.userAgent, signal }
  return createTokenSource({
    fetchToken(headers) {
      switch (credential.type) {
        case 'oauth':
          return fetchOAuthToken(fetchOptions, credential)
        case 'password':
          return fetchPasswordToken(fetchOptions, credential, headers)
        default:
          return assertNever(credential)
      }
    },
    givenToken: credential.givenToken,
    expiryBufferMs: shared.settings.upstream.tokenExpiryBufferMs,
    now: shared.now,
    random: shared.random,
    onFetched(failure) {
      shared.onTokenFetched?.(failure !== undefined)
      if (failure === undefined) shared.log.debug({ event: 'upstream_token_fetched' }, 'Got an upstream access token')
      // Ended with the provider itself, nobody misses it.
      else if (!signal.aborted) logTokenFailure(shared.log, failure)
    }
  })
}

function logTokenFailure(log: Logger, thrown: unknown): void {
  const error = thrown instanceof CallFailure ? thrown.error : toGatewayError(thrown)
  log.warn(
    { event: 'upstream_token_failed', code: error.code, status: error.status, cause: describeCause(error) },
    'No upstream access token could be had'
  )
}
