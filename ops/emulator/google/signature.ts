// The signatures that this upstream puts on parts of its responses, and checks when they come back in a history.
import { createHash } from 'node:crypto'

/**
 * The texts that the service documents for calls that it did not make itself. Clients whose type of
 * a signature is bytes write them in base64.
 */
const FOREIGN_MARKS: ReadonlySet<string> = new Set(
  ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go'].flatMap(mark => [
    mark,
    Buffer.from(mark).toString('base64')
  ])
)

const PREFIX = 'emulator.1.'

/** What a signature belongs to: a call, by its name, or the text of a response. */
export type SignedPart = { call: string } | 'text'

/** Signs a part of a response of this model. */
export function signPart(part: SignedPart): string {
  return Buffer.from(`${PREFIX}${digest(part)}`).toString('base64')
}

/** True for a signature that this upstream made for this part, and for a documented text in its place. */
export function isSignatureOf(part: SignedPart, signature: string): boolean {
  return FOREIGN_MARKS.has(signature) || signature === signPart(part)
}

function digest(part: SignedPart): string {
  const text = part === 'text' ? 'text' : `call ${part.call}`
  return createHash('sha256').update(text).digest('base64url').slice(0, 32)
}
