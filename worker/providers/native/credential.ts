// The credential of one executor for the native upstream, and the texts of it that no output may show.

import type { Secret } from '../../../shared/secrets/secret.ts'
import { assertNever } from '../../normalized/assert.ts'
import { createSecretTexts, type SecretTexts } from '../credentials/secret-texts.ts'
import { decodePair, writePair } from '../pass-token.ts'

/** How calls are authorized. A given token is used first where another one can be fetched. */
export type NativeCredential =
  | { type: 'oauth'; credentials: Secret; scope: string; givenToken?: Secret }
  | { type: 'password'; user: string; password: Secret; givenToken?: Secret }
  /** Nothing can be renewed; null sends no authorization at all. */
  | { type: 'fixed'; accessToken: Secret | null }

/** The credential as it was given, the forms in which it is sent, and the tokens that are fetched with it. */
export function createCredentialTexts(credential: NativeCredential, others: readonly string[]): SecretTexts {
  return createSecretTexts([...others, ...listTexts(credential)])
}

function listTexts(credential: NativeCredential): string[] {
  switch (credential.type) {
    case 'oauth': {
      const credentials = credential.credentials.reveal()
      return [credentials, ...decodePair(credentials), ...reveal(credential.givenToken)]
    }
    case 'password': {
      const password = credential.password.reveal()
      return [password, writePair(credential.user, password), ...reveal(credential.givenToken)]
    }
    case 'fixed':
      return reveal(credential.accessToken ?? undefined)
    default:
      return assertNever(credential)
  }
}

function reveal(secret: Secret | undefined): string[] {
  return secret === undefined ? [] : [secret.reveal()]
}
