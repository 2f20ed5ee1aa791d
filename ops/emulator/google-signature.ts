// The signatures that this upstream puts on parts of its responses, and checks when they come back in a history.
import { createHash } from 'node:crypto'

/** The text that the service documents for calls that it did not make itself. */
const FOREIGN_MARK = 'skip_thought_signature_validator'

const PREFIX = 'emulator.1.'

/** What a signature belongs to: a call, by its name, or the text of a response. */
export type SignedPart = { call: string } | 'text'

/** Signs a part of a response of this model. */
export function signPart(part: SignedPart): string {
  return Buffer.from(`${PREFIX}${digest(part)}`).toString('base64')
}

/** True for a signature that this upstream made for this part, and for the documented text in its place. */
export function isSignatureOf(part: SignedPart, signature: string): boolean {
  return signature === FOREIGN_MARK || signature === signPart(part)
}

function digest(part: SignedPart): string {
  const text = part === 'text' ? 'text' : `call ${part.call}`
  return createHash('sha256').update(text).digest('base64url').slice(0, 32)
}
