// The client credentials grant of OAuth 2: what a profile's own account sends to the token server
// (providers.md 1; RFC 6749, sections 2.3.1 and 4.4).

import type { ProfileAuth } from '../../../shared/profile/profile.ts'
import type { Secret } from '../../../shared/secrets/secret.ts'
import { writePair } from '../pass-token.ts'
import type { TokenCall } from './token-server.ts'

export type ClientCredentialsAuth = Extract<ProfileAuth, { type: 'oauth2' }>

export interface ClientAccount {
  id: Secret
  secret: Secret
}

/** Writes the request for a token. The account stands in the header or in the form, never in both. */
export function writeClientCredentials(
  { scope, audience, clientAuth }: ClientCredentialsAuth,
  account: ClientAccount
): TokenCall {
  const form = new URLSearchParams({ grant_type: 'client_credentials' })
  if (scope !== undefined) form.set('scope', scope)
  if (audience !== undefined) form.set('audience', audience)
  if (clientAuth === 'basic') return { headers: ['authorization', `Basic ${writeBasicPair(account)}`], form }
  form.set('client_id', account.id.reveal())
  form.set('client_secret', account.secret.reveal())
  return { form }
}

/** The forms in which an account is sent, for the redaction. */
export function listClientTexts(account: ClientAccount): string[] {
  return [account.id.reveal(), account.secret.reveal(), writeBasicPair(account)]
}

/**
 * Both parts are encoded before they are joined, as the standard asks. Of its encodings this one leaves `-_.~!*'()` alone, so that
 * servers that forget to decode understand most accounts too.
 */
function writeBasicPair({ id, secret }: ClientAccount): string {
  return writePair(encodeURIComponent(id.reveal()), encodeURIComponent(secret.reveal()))
}
