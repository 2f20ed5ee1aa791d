// The texts of one credential that no output may show: those that were given, and the tokens that
// are fetched with them.

import type { Secret } from '../../../shared/secrets/secret.ts'

/** Fetched tokens that are remembered: the old one is still used by running calls while the new one is fetched. */
const TOKENS_MAX = 2

export interface SecretTexts {
  /** The texts as of now; the same array until another token is fetched. */
  list(): readonly string[]
  /** Adds a token that was fetched with the credential. */
  addToken(token: Secret): void
}

/** Keeps the given texts, and the tokens that were fetched last. */
export function createSecretTexts(given: readonly string[]): SecretTexts {
  let tokens: string[] = []
  let all = given
  return {
    list: () => all,
    addToken(token) {
      tokens = [token.reveal(), ...tokens].slice(0, TOKENS_MAX)
      all = [...given, ...tokens]
    }
  }
}
