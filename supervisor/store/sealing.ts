// Encryption of stored content at rest (decisions.md 89). Both databases keep what `seal` returns; its first byte says how to read it.
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'

const PLAIN = 0
const SEALED = 1
const KEY_ID_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES

export interface Sealing {
  /** Of the key that seals; undefined: content is stored as it is. */
  readonly keyId: string | undefined
  /** The ids of all keys that can be read. */
  readonly keyIds: readonly string[]
  /** `place` names the record, so that content which was moved to another record in the database is not opened there. */
  seal(content: Uint8Array, place: string): Buffer
  /** Raises `SealedContentError` where no key opens it. */
  open(stored: Uint8Array, place: string): Buffer
  /** A secret for one purpose, under the key where there is one: without it, guesses at content cannot be checked against hashes. */
  derive(databaseSecret: Uint8Array, purpose: string): Buffer
}

/** Content cannot be opened: it was sealed with another key, or is not what was sealed. Its message holds no secret. */
export class SealedContentError extends Error {
  constructor(keyId: string, cause?: unknown) {
    super(`Stored content that was sealed with the key ${keyId} cannot be opened.`, { cause })
    this.name = 'SealedContentError'
  }
}

/** @param keys of 32 bytes. */
export function createSealing(keys: {
  readonly key: Uint8Array | undefined
  readonly previousKey: Uint8Array | undefined
}): Sealing {
  const { key, previousKey } = keys
  const readable = new Map(
    [previousKey, key].filter(value => value !== undefined).map(value => [hashKeyId(value), value] as const)
  )
  const keyId = key === undefined ? undefined : hashKeyId(key)
  return {
    keyId,
    keyIds: [...readable.keys()],
    seal(content, place) {
      if (key === undefined || keyId === undefined) return Buffer.concat([Uint8Array.of(PLAIN), content])
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(Buffer.from(place))
      const sealed = cipher.update(content)
      return Buffer.concat([
        Uint8Array.of(SEALED),
        Buffer.from(keyId, 'hex'),
        nonce,
        sealed,
        cipher.final(),
        cipher.getAuthTag()
      ])
    },
    open(stored, place) {
      const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
      if (bytes[0] === PLAIN) return bytes.subarray(1)
      const sealedWith = bytes.toString('hex', 1, 1 + KEY_ID_BYTES)
      const found = readable.get(sealedWith)
      if (bytes[0] !== SEALED || found === undefined) throw new SealedContentError(sealedWith)
      try {
        const nonce = bytes.subarray(1 + KEY_ID_BYTES, HEADER_BYTES)
        const decipher = createDecipheriv('aes-256-gcm', found, nonce, { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(place))
        decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
        return Buffer.concat([decipher.update(bytes.subarray(HEADER_BYTES, -TAG_BYTES)), decipher.final()])
      } catch (error) {
        throw new SealedContentError(sealedWith, error)
      }
    },
    derive: (databaseSecret, purpose) =>
      createHmac('sha256', key ?? databaseSecret)
        .update(purpose)
        .update(databaseSecret)
        .digest()
  }
}

function hashKeyId(key: Uint8Array): string {
  return createHash('sha256')
    .update('responses store key id')
    .update(key)
    .digest('hex')
    .slice(0, 2 * KEY_ID_BYTES)
}
