// The message of a provider's error: where error bodies have it, and what of it a client may see.

import { createRedactor } from '../../../../shared/secrets/redaction.ts'

const redactor = createRedactor()

/**
 * The message without markup, addresses and secrets, of bounded length; undefined when nothing is left. The executor also removes the
 * credentials of the call.
 */
export function cleanProviderMessage(message: string, charactersMax: number): string | undefined {
  if (/<\s*(?:!doctype|html|head|body|script)\b/i.test(message)) return undefined
  const bounded = message.slice(0, 4 * charactersMax)
  const withoutAddresses = bounded.replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[address]')
  const clean = redactor.redactText(withoutAddresses).replaceAll(/\s+/g, ' ').trim()
  // A surrogate pair is not cut in half.
  const shown = clean.slice(0, charactersMax).replace(/[\uD800-\uDBFF]$/, '')
  return shown === '' ? undefined : shown
}

/** Names of codes and paths of members; digits alone are a number of the service that says nothing to a client (decisions.md 114). */
const WORD = /^(?=.*[A-Za-z])[A-Za-z0-9_.[\]-]{1,64}$/

/** A short identifier of an error body; undefined for any other value, and for one that looks like a secret. */
export function readProviderWord(value: unknown): string | undefined {
  return typeof value === 'string' && WORD.test(value) && redactor.redactText(value) === value ? value : undefined
}

/** The first value that is a status of an error, as a number or as text. */
export function findErrorStatus(...candidates: unknown[]): number | undefined {
  for (const candidate of candidates) {
    const status = typeof candidate === 'string' ? Number(candidate) : candidate
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  return undefined
}
