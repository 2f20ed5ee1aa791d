// The encrypted content of reasoning and of compacted conversations. It holds their text, so that this upstream knows its own, and no other can make it.
import { createHmac } from 'node:crypto'

/** The same for every emulator, so that a conversation may go on at another one. */
const SIGNING_KEY = 'emulator-reasoning'

/** The encrypted content for a reasoning text. */
export function encryptReasoning(text: string): string {
  const mark = createHmac('sha256', SIGNING_KEY).update(text).digest('base64url').slice(0, 22)
  return `gAAAAA${Buffer.from(`${mark}.${text}`).toString('base64url')}`
}

/** The text of content that this upstream made. */
export function decryptReasoning(content: string): string {
  const decoded = Buffer.from(content.slice('gAAAAA'.length), 'base64url').toString('utf8')
  return decoded.slice(decoded.indexOf('.') + 1)
}

/** True for content that this upstream made. */
export function isEncryptedReasoning(content: string): boolean {
  return content.startsWith('gAAAAA') && encryptReasoning(decryptReasoning(content)) === content
}
