// The native upstream for one credential: the generic executor with tokens, uploads and generated files, over connections that it
// may share with other credentials.

import { joinBytes } from '../../../shared/bytes.ts'
import type { Logger } from '../../../shared/logging.ts'
import { assertNever } from '../../normalized/assert.ts'
import { toGatewayError } from '../../normalized/index.ts'
import type { MediaKind } from '../../protocols/native/media-types.ts'
import type { NativeOptions } from '../../protocols/native/options.ts'
import type { SecretTexts } from '../credentials/secret-texts.ts'
import { createTokenSource, type FetchedToken, signWithToken } from '../credentials/token-source.ts'
import type { GuardedDownload } from '../egress/guarded-download.ts'
import { CallFailure, describeCause } from '../http/call-failure.ts'
import type { OutcomeListener } from '../http/call-outcome.ts'
import { ProviderClient } from '../http/client.ts'
import { type CredentialCaller, type CredentialSource, createFixedCredential, signNothing } from '../http/credential.ts'
import { createHttpExecutor } from '../http/executor.ts'
import type { BodyFallback } from '../http/hooks.ts'
import { createErrorRedaction } from '../http/redaction.ts'
import type { ReadError } from '../http/response-head.ts'
import { createSettingsRetries } from '../http/retry.ts'
import type { StaticParts } from '../http/static-parts.ts'
import type { ExecutorDependencies } from '../provider-kind.ts'
import type { Executor } from '../types.ts'
import type { UploadCache } from './attachments/upload-cache.ts'
import { type AttachmentGates, createAttachmentUploader } from './attachments/uploader.ts'
import type { NativeConnections } from './connections.ts'
import { createCredentialTexts, type NativeCredential } from './credential.ts'
import { createFileCalls } from './files.ts'
import { createImageCompleter } from './generated-images.ts'
import { substitutePlaceholders } from './placeholders.ts'
import { fetchOAuthToken, fetchPasswordToken, type TokenFetchOptions } from './token-fetch.ts'
import type { NativeToken } from './token-response.ts'

/** What all executors of a profile have in common. */
export interface SharedDependencies extends ExecutorDependencies {
  profileId: string
  userAgent: string
  faceOptions: NativeOptions
  readError: ReadError
  /** Of a profile of a file. */
  staticParts: StaticParts | undefined
  download: GuardedDownload
  uploads: UploadCache<MediaKind>
  uploadGates: AttachmentGates
  parallelOption: BodyFallback
  /** The texts of all secret settings. */
  secrets: readonly string[]
}

export interface NativeExecutorOptions {
  shared: SharedDependencies
  connections: NativeConnections
  /** Whether `close` and `destroy` end the connections: false when other executors use them. */
  ownsConnections: boolean
  credential: NativeCredential
  /** A client brought the credential: its refusal says nothing about the provider. */
  isOfClient?: true
  /** Names the credential without revealing it. */
  identity: string
}

export function createNativeExecutor(options: NativeExecutorOptions): Executor {
  const { shared, connections } = options
  const { settings } = shared
  const texts = createCredentialTexts(options.credential, shared.secrets)
  const redaction = createErrorRedaction(texts.list)
  const log = redaction.protect(shared.log)
  // Its abort also ends a pending token fetch: no caller waits for it, and it would delay closing the connections.
  const lifetime = new AbortController()
  const client = new ProviderClient({
    profileId: shared.profileId,
    origin: connections.api,
    credentials: createCredentials(options, { log, texts, lifetime: lifetime.signal }),
    readError: shared.readError,
    retryPolicy: createSettingsRetries({
      retriesMax: settings.upstream.maxRetries,
      backoffSeconds: settings.upstream.retryBackoffFactor,
      statuses: settings.upstream.retryOnStatusCodes
    }),
    userAgent: shared.userAgent,
    sendsRequestHeaders: true,
    staticParts: shared.staticParts,
    lifetime: lifetime.signal,
    log,
    onOutcome: options.isOfClient ? leaveCredentialOut(shared.onOutcome) : shared.onOutcome,
    now: shared.now,
    onStaleConnection: shared.onStaleConnection,
    draining: shared.draining,
    random: shared.random
  })
  const files = createFileCalls(client, shared.faceOptions)
  const uploader = createAttachmentUploader({
    files,
    download: shared.download,
    cache: shared.uploads,
    gates: shared.uploadGates,
    credentialIdentity: options.identity,
    limits: shared.faceOptions.attachmentLimits
  })
  return createHttpExecutor({
    providerKind: 'native',
    faces: shared.faces,
    faceOptions: shared.faceOptions,
    client,
    hooks: {
      uploadAttachments: async ({ attachments, body }, context) =>
        substitutePlaceholders(joinBytes(body), await uploader.upload(attachments, context)),
      eventCompleter: createImageCompleter({ download: files.download, log }),
      openFallback: () => shared.parallelOption
    },
    redaction,
    largeResponses: shared.largeResponses,
    lifetime,
    connections: options.ownsConnections ? connections : undefined,
    log,
    logsPayloads: settings.mode === 'DEV'
  })
}

function leaveCredentialOut(onOutcome: OutcomeListener | undefined): OutcomeListener | undefined {
  return (
    onOutcome &&
    (outcome => {
      const isAboutCredential =
        outcome.failure === 'credential_error' || outcome.status === 401 || outcome.status === 403
      if (!isAboutCredential) onOutcome(outcome)
    })
  )
}

function createCredentials(
  { shared, connections, credential }: NativeExecutorOptions,
  { log, texts, lifetime }: { log: Logger; texts: SecretTexts; lifetime: AbortSignal }
): CredentialSource {
  if (credential.type === 'fixed') {
    const { accessToken } = credential
    return createFixedCredential(accessToken === null ? signNothing : signWithToken(accessToken))
  }
  const fetchOptions: TokenFetchOptions = {
    connections,
    userAgent: shared.userAgent,
    readError: shared.readError,
    signal: lifetime
  }
  const fetchToken = (headers: CredentialCaller['headers']): Promise<NativeToken> => {
    switch (credential.type) {
      case 'oauth':
        return fetchOAuthToken(fetchOptions, credential)
      case 'password':
        return fetchPasswordToken(fetchOptions, credential, headers)
      default:
        return assertNever(credential)
    }
  }
  return createTokenSource({
    async fetchToken(headers) {
      const { value, expiresAtMs } = await fetchToken(headers)
      texts.addToken(value)
      const lifetimeMs = readLifetime(expiresAtMs, shared.now())
      if (expiresAtMs !== undefined && lifetimeMs === undefined) log.warn({ event: 'clock_ahead' }, CLOCK_AHEAD)
      return { value, lifetimeMs }
    },
    givenToken: credential.givenToken,
    // Every call would replace a token whose lifetime is shorter than the buffer.
    bufferMs: lifetimeMs => Math.min(shared.settings.upstream.tokenExpiryBufferMs, lifetimeMs / 2),
    monotonicMs: shared.monotonicMs,
    random: shared.random,
    onFetched(failure) {
      // A fetch that ended because the executor closes is no failure.
      if (failure !== undefined && lifetime.aborted) return
      shared.onTokenFetched?.(failure !== undefined)
      if (failure === undefined) log.debug({ event: 'upstream_token_fetched' }, 'Got an upstream access token')
      else logTokenFailure(log, failure)
    }
  })
}

const CLOCK_AHEAD =
  'An upstream access token had ended when it came: the clock of this host is ahead; the token is used until it is refused'

/**
 * The lifetime of a token that was fetched just now. One that has none left shows that this host's clock is wrong: such a token is
 * used until the upstream refuses it, because every call would fetch another one otherwise.
 */
function readLifetime(expiresAtMs: number | undefined, nowMs: number): FetchedToken['lifetimeMs'] {
  return expiresAtMs === undefined || expiresAtMs <= nowMs ? undefined : expiresAtMs - nowMs
}

function logTokenFailure(log: Logger, thrown: unknown): void {
  const error = thrown instanceof CallFailure ? thrown.error : toGatewayError(thrown)
  log.warn(
    { event: 'upstream_token_failed', code: error.code, status: error.status, cause: describeCause(error) },
    'No upstream access token could be fetched'
  )
}
