// The body of a client that goes on to a provider on the same wire as the client wrote it.

import { isUtf8 } from 'node:buffer'
import { asBuffer } from '../../../shared/bytes.ts'
import type { JsonObject } from '../../normalized/index.ts'
import { extraMembers, sdkOption, sdkOptions } from './common-parameters.ts'
import { type ParameterTable, refuseUnexpressed } from './parameters.ts'
import { countMembers, replaceValue, scanJson } from './raw-json.ts'

/** Members that a body has for the gateway or by a mistake of its SDK. They may be secrets, and belong to no wire. */
const ownParameters: ParameterTable = { ...extraMembers, ...sdkOptions, auth_token: sdkOption }

/**
 * The body without members of the gateway; the same body when it has none. Raises `unsupported_semantic` for one that asks for something:
 * it would have no effect (bridge.md 7.6).
 */
export function dropOwnMembers(body: JsonObject): JsonObject {
  const entries = Object.entries(body)
  const isOwn = ([name]: (typeof entries)[number]): boolean => Object.hasOwn(ownParameters, name)
  const own = entries.filter(isOwn)
  if (own.length === 0) return body
  refuseUnexpressed(Object.fromEntries(own), ownParameters)
  return Object.fromEntries(entries.filter(entry => !isOwn(entry)))
}

/**
 * The client's bytes with the model renamed, where the written body differs in nothing else; undefined otherwise.
 *
 * A name that an object has twice is read by some parsers from its first place and by others from its last: such a body is written anew, so
 * that the provider reads what was admitted. So is a body with invalid UTF-8.
 * @param written made of `received`: members that stayed are the same values.
 * @param member the member with the model; absent on a wire whose path names it.
 */
export function reusePassedBody(
  bytes: Uint8Array,
  { received, written, member }: { received: JsonObject; written: JsonObject; member?: string }
): Uint8Array | undefined {
  if (!isSameBut(member, received, written)) return undefined
  const buffer = asBuffer(bytes)
  if (buffer[0] === BYTE_ORDER_MARK || !isUtf8(buffer)) return undefined
  const { memberCount, value } = scanJson(buffer, member ?? '')
  if (memberCount !== countMembers(received)) return undefined
  if (member === undefined) return buffer
  const model = written[member]
  return value === undefined || typeof model !== 'string' ? undefined : replaceValue(buffer, value, model)
}

/** Its first byte; no other body begins with it. */
const BYTE_ORDER_MARK = 0xef

function isSameBut(member: string | undefined, received: JsonObject, written: JsonObject): boolean {
  if (received === written) return true
  const names = Object.keys(received)
  if (names.length !== Object.keys(written).length) return false
  return names.every(name => name === member || (Object.hasOwn(written, name) && received[name] === written[name]))
}
