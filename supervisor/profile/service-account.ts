// What the key of a Google service account must hold, so that tokens can be asked for with it.
import { createPrivateKey } from 'node:crypto'
import { canonicalDestination } from '../../shared/net/destination.ts'
import { readAddressPolicy } from '../../shared/profile/network-policy.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'
import { findUrlProblem } from './destination.ts'

/** Where tokens come from unless the key says so. */
const DEFAULT_TOKEN_URL = 'https://oauth2.googleapis.com/token'

/** Returns what the text must be, without a word of it; undefined for a key that the profile can use. */
export function findServiceAccountProblem(
  text: string,
  profile: Pick<ProviderProfile, 'allowLoopback' | 'allowPrivate'>
): string | undefined {
  const key = parse(text)
  if (key === undefined) return 'must hold the key of a service account in JSON'
  if (key.type !== 'service_account') return 'must hold a key whose type is service_account'
  if (typeof key.client_email !== 'string' || key.client_email === '') return 'must hold a key with client_email'
  if (typeof key.private_key !== 'string' || !isPrivateKey(key.private_key)) {
    return 'must hold a key whose private_key is an RSA key in PKCS #8 form'
  }
  const { token_uri: tokenUrl = DEFAULT_TOKEN_URL } = key
  const url = typeof tokenUrl === 'string' ? canonicalDestination(tokenUrl) : undefined
  if (url === undefined || findUrlProblem(readAddressPolicy(profile), url) !== undefined) {
    return 'must hold a key whose token_uri the network policy of the profile allows'
  }
  return undefined
}

function parse(text: string): Partial<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

const PKCS8 = /^\s*-----BEGIN PRIVATE KEY-----/

/** Tokens are asked for with RS256 (RFC 7523). */
function isPrivateKey(text: string): boolean {
  try {
    return PKCS8.test(text) && createPrivateKey(text).asymmetricKeyType === 'rsa'
  } catch {
    return false
  }
}
