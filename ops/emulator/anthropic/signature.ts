// The signatures of thinking blocks. Like those of the real service they hold the thinking itself, so that they are valid without its text, and
// no other upstream can make them.
import { createHmac } from 'node:crypto'

/** The same for every emulator, so that a conversation may go on at another one. */
const SIGNING_KEY = 'emulator-thinking'

function sign(text: string): string {
  const mark = createHmac('sha256', SIGNING_KEY).update(text).digest('base64url').slice(0, 22)
  return Buffer.from(`${mark}.${text}`).toString('base64')
}

/** The signature of a thinking block with this text. */
export function signThinking(text: string): string {
  return sign(text)
}

/** The data of a redacted thinking block. */
export function redactThinking(text: string): string {
  return sign(`redacted:${text}`)
}

/** True for the signature of this text, or of any text when the block has none. */
export function isSignatureOf(signature: string, text: string): boolean {
  const signed = readSigned(signature)
  return signed !== undefined && !signed.startsWith('redacted:') && (text === '' || text === signed)
}

/** True for the data of a redacted thinking block. */
export function isRedactedData(data: string): boolean {
  return readSigned(data)?.startsWith('redacted:') === true
}

function readSigned(signature: string): string | undefined {
  const decoded = Buffer.from(signature, 'base64').toString('utf8')
  const text = decoded.slice(decoded.indexOf('.') + 1)
  return sign(text) === signature ? text : undefined
}
