// Ids of tool calls that carry what the next turn needs: the upstream's state id and the function's name. The gateway keeps
// no conversation, so a result that comes back alone, to any worker or replica, is placed by its id (decisions 34).
//
// Form: `call_gw_` + base64url of: version and flags, call number, state id, name, two check bytes. A uuid is packed into its
// 16 bytes, so that with a name of 64 characters the id stays within the 128 that `^[a-zA-Z0-9_-]{1,128}$` allows.

const PREFIX = 'call_gw_'
const ID_CHARACTERS_MAX = 128
const PAYLOAD_BYTES_MAX = Math.floor(((ID_CHARACTERS_MAX - PREFIX.length) * 3) / 4)
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** What is in front of the state id: how it is packed, or that the bytes are only there to make the id unique. */
const PACKING = { uuid: 1, text: 2, nonce: 3 } as const

export interface ToolCallIdentity {
  /** The upstream's state id; absent when the upstream gave none. */
  stateId?: string
  /** The function's name as the client knows it; absent when it did not fit. */
  name?: string
  /** Which call of the state it is, from 0. */
  callNumber: number
}

/**
 * Writes the id of a tool call.
 * @param identity.nonce makes the id unique where the upstream gave no state id: a uuid or any text.
 * @returns an id of at most 128 characters from `[a-zA-Z0-9_-]`.
 */
export function writeToolCallId(identity: {
  stateId: string | undefined
  name: string
  callNumber: number
  nonce: string
}): string {
  const key = identity.stateId ?? identity.nonce
  const isUuid = UUID.test(key)
  const keyBytes = isUuid ? Buffer.from(key.replaceAll('-', ''), 'hex') : Buffer.from(key, 'utf8')
  const packing = identity.stateId === undefined ? PACKING.nonce : isUuid ? PACKING.uuid : PACKING.text
  const nameBytes = Buffer.from(identity.name, 'utf8')
  const roomForName = PAYLOAD_BYTES_MAX - 5 - keyBytes.length
  if (roomForName < 0) return writeRawId(key)
  const payload = Buffer.concat([
    Buffer.from([packing, Math.min(identity.callNumber, 255), keyBytes.length]),
    keyBytes,
    // A name that does not fit is left out whole: the request's history has it in every ordinary conversation.
    nameBytes.length <= roomForName ? nameBytes : Buffer.alloc(0)
  ])
  return PREFIX + Buffer.concat([payload, checkBytes(payload)]).toString('base64url')
}

/**
 * Reads an id that a client sent back. Ours gives everything it carries; a foreign one gives the upstream's state id as far
 * as it can be one: without one leading `call_` or `fc_`.
 */
export function readToolCallId(id: string): ToolCallIdentity {
  const ours = readOwnId(id)
  if (ours !== undefined) return ours
  // Ids of another service's own making can never have been issued by the upstream.
  if (id.startsWith('toolu_') || id.startsWith(PREFIX)) return { callNumber: 0 }
  const stateId = id.replace(/^(?:call_|fc_)/, '')
  return stateId === '' ? { callNumber: 0 } : { stateId, callNumber: 0 }
}

function readOwnId(id: string): ToolCallIdentity | undefined {
  const start = id.indexOf(PREFIX)
  // A family may put its own customary prefix in front, so ours need not stand first.
  if (start < 0 || start > 'toolu_'.length) return undefined
  const bytes = Buffer.from(id.slice(start + PREFIX.length), 'base64url')
  if (bytes.length < 5) return undefined
  const payload = bytes.subarray(0, -2)
  if (!checkBytes(payload).equals(bytes.subarray(-2))) return undefined
  const packing = payload[0]
  const callNumber = payload[1] ?? 0
  const keyLength = payload[2] ?? 0
  const key = payload.subarray(3, 3 + keyLength)
  const identity: ToolCallIdentity = { callNumber }
  if (packing === PACKING.uuid) identity.stateId = formatUuid(key.toString('hex'))
  else if (packing === PACKING.text) identity.stateId = key.toString('utf8')
  const name = payload.subarray(3 + keyLength).toString('utf8')
  if (name !== '') identity.name = name
  return identity
}

/** A state id too long to carry anything beside it: it goes out as it is, made safe for the id alphabet. */
function writeRawId(stateId: string): string {
  return `call_${stateId.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`.slice(0, ID_CHARACTERS_MAX)
}

function formatUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Fletcher's checksum: enough to tell our ids from foreign ones and from ours that were cut or altered. */
function checkBytes(payload: Buffer): Buffer {
  let low = 7
  let high = 11
  for (const byte of payload) {
    low = (low + byte) % 255
    high = (high + low) % 255
  }
  return Buffer.from([low, high])
}
