// Ids of tool calls that carry what the next turn needs: the upstream's state id, and the
// function's name where the next turn may come without its history. The gateway stores no
// conversation, so a result that comes back, to any worker or replica, is placed by its id
// (decisions.md 34 and 39). Only an id of the gateway carries a state id: a foreign one says nothing
// of the upstream (decisions.md 85).
//
// Form: `call_gw_` + base64url of: packing, call number, length of the key, key, name, two check
// bytes. A uuid is packed into its 16 bytes, so that an id without a name has 36 characters;
// services that a client may move its conversation to accept 40. An id with a name of 64 characters
// stays within the 128 that `^[a-zA-Z0-9_-]{1,128}$` allows.

const PREFIX = 'call_gw_'
/** The prefix, also behind a prefix that a family puts in front of its ids. */
const GATEWAY_FORM = /^(?:call_|fc_|toolu_)?call_gw_/
const ID_CHARACTERS_MAX = 40
const NAMED_ID_CHARACTERS_MAX = 128
/** Of an id without a name whose state id is no uuid and has more than 19 bytes: at most 35 of them. */
const LONG_ID_CHARACTERS_MAX = 62
/** Packing, call number and key length in front; two check bytes behind. */
const FRAME_BYTES = 5
/** Enough of a nonce to be unique; it need not be read back. */
const NONCE_BYTES_MAX = countKeyBytes(ID_CHARACTERS_MAX)
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const UPPER_CASE_UUID = /^[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}$/

/** The first byte: how the state id is packed, or that the bytes only make the id unique. */
const PACKING = { uuid: 1, text: 2, nonce: 3, upperCaseUuid: 4 } as const

export interface ToolCallIdentity {
  /** The upstream's state id; absent when the upstream gave none. */
  stateId?: string
  /** The function's name as the client knows it; absent in ids that need none, and when it did not fit. */
  name?: string
  /** Which call of the state it is, from 0. */
  callNumber: number
  /** True when the gateway issued the id, so that the state id is certainly the upstream's own. */
  isOwn: boolean
}

/**
 * Writes the id of a tool call.
 * @param identity.name the function's name where the id must carry it; undefined where the next turn repeats the history.
 * @param identity.nonce makes the id unique where the upstream gave no state id: a uuid or any text.
 * @param identity.onStateLeftOut called when the id cannot hold the state id, so that the next turn goes upstream without it.
 * @returns an id from `[a-zA-Z0-9_-]` of at most 40 characters, 62 with a long state id, or 128 with a name.
 */
export function writeToolCallId(identity: {
  stateId: string | undefined
  name: string | undefined
  callNumber: number
  nonce: string
  onStateLeftOut?: () => void
}): string {
  const { stateId, name, callNumber } = identity
  const charactersMax = name === undefined ? ID_CHARACTERS_MAX : NAMED_ID_CHARACTERS_MAX
  const packed = { name: name ?? '', callNumber, contentBytesMax: countKeyBytes(charactersMax) }
  if (stateId !== undefined && stateId !== '') {
    const packing = findPacking(stateId)
    const keyBytes = packing === PACKING.text ? Buffer.from(stateId, 'utf8') : packUuid(stateId)
    if (keyBytes.length <= packed.contentBytesMax) return writePackedId({ ...packed, packing, keyBytes })
    // Wires with shorter ids map it (`toShortCallId`).
    const contentBytesMax = countKeyBytes(name === undefined ? LONG_ID_CHARACTERS_MAX : NAMED_ID_CHARACTERS_MAX)
    if (keyBytes.length <= contentBytesMax) return writePackedId({ ...packed, packing, keyBytes, contentBytesMax })
    // A state id that cannot be returned exactly is left out: the upstream would not know it.
    identity.onStateLeftOut?.()
  }
  const keyBytes = UUID.test(identity.nonce)
    ? packUuid(identity.nonce)
    : Buffer.from(identity.nonce, 'utf8').subarray(0, NONCE_BYTES_MAX)
  return writePackedId({ ...packed, packing: PACKING.nonce, keyBytes })
}

/** Reads an id that a client sent back. An id of the gateway gives everything it carries; a foreign, cut or altered one nothing. */
export function readToolCallId(id: string): ToolCallIdentity {
  return readOwnId(id) ?? { callNumber: 0, isOwn: false }
}

/** True for an id in the gateway's form, also for one that is cut or altered and so carries nothing. */
export function isGatewayCallId(id: string): boolean {
  return GATEWAY_FORM.test(id)
}

function findPacking(stateId: string): number {
  if (UUID.test(stateId)) return PACKING.uuid
  return UPPER_CASE_UUID.test(stateId) ? PACKING.upperCaseUuid : PACKING.text
}

function packUuid(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex')
}

/** How many bytes of key and name fit into an id of this length. */
function countKeyBytes(idCharacters: number): number {
  return Math.floor(((idCharacters - PREFIX.length) * 3) / 4) - FRAME_BYTES
}

function writePackedId(identity: {
  packing: number
  keyBytes: Buffer
  name: string
  callNumber: number
  contentBytesMax: number
}): string {
  const { packing, keyBytes, callNumber, contentBytesMax } = identity
  const nameBytes = Buffer.from(identity.name, 'utf8')
  const payload = Buffer.concat([
    Buffer.from([packing, Math.min(callNumber, 255), keyBytes.length]),
    keyBytes,
    // A name that does not fit is left out: the request's history normally holds it.
    nameBytes.length <= contentBytesMax - keyBytes.length ? nameBytes : Buffer.alloc(0)
  ])
  return PREFIX + Buffer.concat([payload, checkBytes(payload)]).toString('base64url')
}

function readOwnId(id: string): ToolCallIdentity | undefined {
  const start = id.indexOf(PREFIX)
  // A family may put its own customary prefix in front of the gateway's.
  if (start < 0 || start > 'toolu_'.length) return undefined
  const bytes = Buffer.from(id.slice(start + PREFIX.length), 'base64url')
  if (bytes.length < FRAME_BYTES) return undefined
  const payload = bytes.subarray(0, -2)
  if (!checkBytes(payload).equals(bytes.subarray(-2))) return undefined
  const packing = payload[0]
  const callNumber = payload[1] ?? 0
  const keyLength = payload[2] ?? 0
  const key = payload.subarray(3, 3 + keyLength)
  const identity: ToolCallIdentity = { callNumber, isOwn: true }
  if (packing === PACKING.uuid) identity.stateId = formatUuid(key.toString('hex'))
  else if (packing === PACKING.upperCaseUuid) identity.stateId = formatUuid(key.toString('hex').toUpperCase())
  else if (packing === PACKING.text) identity.stateId = key.toString('utf8')
  const name = payload.subarray(3 + keyLength).toString('utf8')
  if (name !== '') identity.name = name
  return identity
}

function formatUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Fletcher's checksum: enough to tell the gateway's ids from foreign, cut or altered ones. */
function checkBytes(payload: Buffer): Buffer {
  let low = 7
  let high = 11
  for (const byte of payload) {
    low = (low + byte) % 255
    high = (high + low) % 255
  }
  return Buffer.from([low, high])
}
