// The credential of one executor for the native upstream, and the texts of it that no output may show.

import type { Secret } from '../../../shared/secret.ts'
import { assertNever } from '../../normalized/assert.ts'
import { decodePair, writePair } from '../pass-token.ts'

/** How calls are authorized. A given token is used first where another one can be fetched. */
export type NativeCredential =
  | { type: 'oauth'; credentials: Secret; scope: string; givenToken?: Secret }
  | { type: 'password'; user: string; password: Secret; givenToken?: Secret }
  /** Nothing can be renewed; null sends no authorization at all. */
  | { type: 'fixed'; accessToken: Secret | null }

/** Fetched tokens that are remembered: the old one is still used by running calls while the new one is fetched. */
const TOKENS_MAX = 2

export interface CredentialTexts {
  /** The texts as of now; the same array until another token is fetched. */
  list(): readonly string[]
  /** Adds a token that was fetched with the credential. */
  addToken(token: Secret): void
}

/** The credential as it was given, the forms in which it is sent, and the tokens that are fetched with it. */
export function createCredentialTexts(credential: NativeCredential, others: readonly string[]): CredentialTexts {
  const given = [...others, ...listTexts(credential)]
  let tokens: string[] = []
  let all: readonly string[] = given
  return {
    list: () => all,
    addToken(token) {
      tokens = [token.reveal(), ...tokens].slice(0, TOKENS_MAX)
      all = [...given, ...tokens]
    }
  }
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
