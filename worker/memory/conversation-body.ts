// Reads the bodies of the operations on conversations: metadata, and items that a client adds (memory.md 4). The reader of Responses input
// says whether an item can be read later; the items themselves stay as the client wrote them.

import type { StoredItem } from '../../shared/memory/store.ts'
import { GatewayError, invalidRequest, isJsonObject, type JsonObject, type JsonValue } from '../normalized/index.ts'
import { readInput } from '../protocols/responses/client/read-input.ts'
import { findJsonMember, listJsonItems, listJsonMembers } from '../protocols/shared/json/json-parts.ts'
import { wrongType } from '../protocols/shared/members/field.ts'
import { createItemId } from './new-ids.ts'

const ITEMS_MAX = 20
const PAIRS_MAX = 16
const KEY_CHARACTERS_MAX = 64
const VALUE_CHARACTERS_MAX = 512

/**
 * Reads the metadata of a body: null and an absent member are none. Raises `invalid_request`.
 * @returns JSON of an object of texts.
 */
export function readMetadata({ metadata }: JsonObject): Buffer {
  if (metadata === undefined || metadata === null) return Buffer.from('{}')
  if (!isJsonObject(metadata)) throw wrongType('metadata', 'an object', metadata)
  const pairs = Object.entries(metadata)
  if (pairs.length > PAIRS_MAX) throw invalidRequest('metadata', `'metadata' must have at most ${PAIRS_MAX} members.`)
  for (const [key, value] of pairs) {
    if ([...key].length > KEY_CHARACTERS_MAX) {
      throw invalidRequest('metadata', `A name in 'metadata' must have at most ${KEY_CHARACTERS_MAX} characters.`)
    }
    if (typeof value !== 'string') throw wrongType(`metadata.${key}`, 'a string', value)
    if ([...value].length > VALUE_CHARACTERS_MAX) {
      throw invalidRequest(`metadata.${key}`, `'metadata.${key}' must have at most ${VALUE_CHARACTERS_MAX} characters.`)
    }
  }
  return Buffer.from(JSON.stringify(metadata))
}

/**
 * Reads the items that a body adds, each with an id: its own, or one that the gateway gives. Raises `invalid_request` with the path of the wrong member,
 * also for a reference, which has no content.
 * @param body what the bytes were parsed to.
 */
export function readItems(bytes: Buffer, body: JsonObject): StoredItem[] {
  const { items } = body
  if (!Array.isArray(items)) throw wrongType('items', 'an array', items ?? undefined)
  if (items.length > ITEMS_MAX) throw invalidRequest('items', `'items' must hold at most ${ITEMS_MAX} items.`)
  for (const [index, item] of items.entries()) refuseReference(item, `items[${index}]`)
  checkItems(items)
  const member = findJsonMember(listJsonMembers(bytes) ?? [], 'items')
  const parts = member === undefined ? [] : (listJsonItems(bytes, member.start) ?? [])
  const ids = new Set<string>()
  return parts.map(({ start, end }, index) => {
    const item = items[index]
    const id =
      isJsonObject(item) && typeof item.id === 'string' && item.id !== '' ? item.id : createItemId(typeOf(item))
    if (id.length > ID_CHARACTERS_MAX) throw invalidRequest(`items[${index}].id`, `'items[${index}].id' is too long.`)
    if (ids.has(id)) throw invalidRequest(`items[${index}].id`, `Two items have the id of 'items[${index}]'.`)
    ids.add(id)
    return { id, json: bytes.subarray(start, end) }
  })
}

/** Ids of providers with state in them are long. */
const ID_CHARACTERS_MAX = 1024

function typeOf(item: JsonValue | undefined): string {
  return isJsonObject(item) && typeof item.type === 'string' ? item.type : 'message'
}

/** An item without a type, a role and a content is a reference too. */
function refuseReference(item: JsonValue, path: string): void {
  if (!isJsonObject(item)) return
  const isTyped = (item.type ?? undefined) !== undefined
  if (isTyped ? item.type !== 'item_reference' : 'role' in item || 'content' in item) return
  throw invalidRequest(`${path}.type`, `'${path}' must be a whole item: a reference cannot be added to a conversation.`)
}

/** Lets the reader of Responses input find what is wrong, and names it in the words of this body. */
function checkItems(items: JsonValue[]): void {
  try {
    readInput({ input: items, conversation: 'any' }, [], { ignored: {} })
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown
    const { param, message } = thrown
    throw thrown.with({
      message: message.replaceAll(INPUT_ITEM, 'items['),
      ...(param === undefined ? {} : { param: param.replace(INPUT_ITEM, 'items[') })
    })
  }
}

const INPUT_ITEM = /\binput\[/g
