// A Google service account: its key signs an assertion, which the account's token server exchanges
// for a token (providers.md 1 and 2; RFC 7523). The library signs only: the call is the gateway's own.

import { readFile } from 'node:fs/promises'
import type { ProfileAuth } from '../../../shared/profile/profile.ts'
import { GatewayError } from '../../normalized/index.ts'
import { CallFailure } from '../http/call-failure.ts'
import type { ExecutorDependencies } from '../provider-kind.ts'
import type { TokenCall } from './token-server.ts'

export type ServiceAccountAuth = Extract<ProfileAuth, { type: 'google_service_account' }>

/** What of the key's JSON is used. */
export interface ServiceAccountKey {
  clientEmail: string
  privateKey: string
  privateKeyId: string | undefined
  tokenUrl: string
}

const DEFAULT_TOKEN_URL = 'https://oauth2.googleapis.com/token'
const DEFAULT_SCOPES: readonly string[] = ['https://www.googleapis.com/auth/cloud-platform']

/** The longest that the token server takes. */
const ASSERTION_SECONDS = 3600

/**
 * Reads the key of an account: the file anew for each token, so that one that was replaced is used without a restart. Rejects with
 * `CallFailure`, which names neither the path nor the content.
 */
export async function loadServiceAccountKey(
  { file, env }: ServiceAccountAuth,
  readSecret: ExecutorDependencies['readSecret']
): Promise<ServiceAccountKey> {
  const text =
    file === undefined ? (env === undefined ? undefined : readSecret(env)?.reveal()) : await readKeyFile(file)
  const key = text === undefined ? undefined : readServiceAccountKey(text)
  if (key === undefined) throw unusableKey(text === undefined ? 'there is none' : 'it is no JSON of a service account')
  return key
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    // The message of the system's error holds the path.
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable'
    throw unusableKey(`its file cannot be read (${code})`)
  }
}

/** Reads the JSON of a key as Google gives it out. Returns undefined for anything else. */
export function readServiceAccountKey(text: string): ServiceAccountKey | undefined {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof document !== 'object' || document === null) return undefined
  const members = new Map<string, unknown>(Object.entries(document))
  const clientEmail = members.get('client_email')
  const privateKey = members.get('private_key')
  const privateKeyId = members.get('private_key_id')
  const tokenUrl = members.get('token_uri') ?? DEFAULT_TOKEN_URL
  if (members.get('type') !== 'service_account' || typeof clientEmail !== 'string' || clientEmail === '')
    return undefined
  if (typeof privateKey !== 'string' || typeof tokenUrl !== 'string') return undefined
  return {
    clientEmail,
    privateKey,
    privateKeyId: typeof privateKeyId === 'string' ? privateKeyId : undefined,
    tokenUrl
  }
}

/** Writes the request for a token of the account. Rejects with `CallFailure` for a key that signs nothing. */
export async function writeAssertionGrant(
  key: ServiceAccountKey,
  { scopes = DEFAULT_SCOPES }: ServiceAccountAuth,
  nowMs: number
): Promise<TokenCall> {
  return {
    form: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: await signAssertion(key, scopes, Math.floor(nowMs / 1000))
    })
  }
}

async function signAssertion(key: ServiceAccountKey, scopes: readonly string[], nowSeconds: number): Promise<string> {
  // Loaded with the first token: most gateways have no such account.
  const { importPKCS8, SignJWT } = await import('jose')
  try {
    return await new SignJWT({ scope: scopes.join(' ') })
      .setProtectedHeader({
        alg: 'RS256',
        typ: 'JWT',
        ...(key.privateKeyId === undefined ? {} : { kid: key.privateKeyId })
      })
      .setIssuer(key.clientEmail)
      .setAudience(key.tokenUrl)
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + ASSERTION_SECONDS)
      .sign(await importPKCS8(key.privateKey, 'RS256'))
  } catch {
    // The library's message could hold a part of the key.
    throw unusableKey('its private key signs nothing')
  }
}

/** The failure of an account whose key cannot be used; `why` is for the log. */
export function unusableKey(why: string): CallFailure {
  return new CallFailure(new GatewayError('provider_failure', { cause: `the key of the service account: ${why}` }), {
    outcome: 'credential_error'
  })
}
