// What the key of a Google service account must hold, so that tokens can be asked for with it.
import { createPrivateKey } from 'node:crypto'

/** Returns what the text must be, without a word of it; undefined for a key that can be used. */
export function findServiceAccountProblem(text: string): string | undefined {
  const key = parse(text)
  if (key === undefined) return 'must hold the key of a service account in JSON'
  if (key.type !== 'service_account') return 'must hold a key whose type is service_account'
  if (typeof key.client_email !== 'string' || key.client_email === '') return 'must hold a key with client_email'
  if (typeof key.private_key !== 'string' || !isPrivateKey(key.private_key)) {
    return 'must hold a key with private_key in PEM form'
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

function isPrivateKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private'
  } catch {
    return false
  }
}
