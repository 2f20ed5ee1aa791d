// The settings of the store of responses (memory.md 1).
import type { SectionRows } from './row.ts'
import * as kind from './types.ts'

/** The rows of the memory of Responses. */
export function responsesRows(add: SectionRows) {
  return {
    GATEWAY_RESPONSES_STORE_DSN: add.optional(
      kind.secret,
      'Database of stored responses: `sqlite:<path>` or a `postgres://` address. Unset: nothing is stored.',
      { secret: true }
    ),
    GATEWAY_RESPONSES_STORE_DEFAULT: add.optional(
      kind.boolean,
      'Whether a Responses request that has no `store` is stored; unset: with a store yes, without one no. On without a store: v2 requests are stored by the upstream.'
    ),
    GATEWAY_RESPONSES_STORE_RETENTION_DAYS: add.withDefault(
      kind.integer({ above: 0, max: kind.DAYS_MAX }),
      '30',
      'Days after its last use at which a stored conversation, with all its responses, is deleted.'
    ),
    GATEWAY_RESPONSES_STORE_KEY: add.optional(
      kind.secret,
      '32 bytes in base64: stored content is encrypted with AES-256-GCM.',
      { secret: true }
    ),
    GATEWAY_RESPONSES_STORE_KEY_PREVIOUS: add.optional(
      kind.secret,
      'The key before: content that was stored with it can still be read.',
      { secret: true }
    ),
    GATEWAY_RESPONSES_STORE_MAX_BYTES: add.withDefault(
      kind.integer({ above: 0 }),
      '20971520',
      'Largest stored response with its input, in bytes; a larger one is served and not stored.'
    ),
    GATEWAY_RESPONSES_STORE_MAX_BYTES_PER_KEY: add.withDefault(
      kind.integer({ min: 0 }),
      '1073741824',
      'All stored content of one key in bytes; beyond it the conversations that were unused longest are deleted. 0 sets no limit.'
    ),
    GATEWAY_RESPONSES_STORE_AUTO_MIGRATE: add.optional(
      kind.boolean,
      'Whether tables are created and upgraded at start; unset: in SQLite yes, in Postgres no.'
    ),
    GATEWAY_RESPONSES_WEBSOCKET: add.withDefault(
      kind.boolean,
      'false',
      'Serve WebSocket connections on `/responses`; off, an upgrade is refused with 426.'
    )
  }
}
