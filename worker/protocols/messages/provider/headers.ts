// The headers of every call on the wire: exactly these reach the provider, besides its credential (bridge.md 8.2).

import { STREAM_HEADERS, WIRE_HEADERS } from '../../shared/wire-headers.ts'

const VERSION: readonly string[] = ['anthropic-version', '2023-06-01']

export const MESSAGES_HEADERS: readonly string[] = [...WIRE_HEADERS, ...VERSION]

export const MESSAGES_STREAM_HEADERS: readonly string[] = [...STREAM_HEADERS, ...VERSION]
