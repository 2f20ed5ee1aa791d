// The keys of the tree in which inputs are stored (decisions.md 89). A client that resends its history sends an input which begins with
// items that an earlier input has: both end in the same branch of one tree, and each item is stored once.
import { createHmac } from 'node:crypto'
import type { StoredItem } from '../../shared/memory/store.ts'

const KEY_BYTES = 16
const OF_ROOT = Uint8Array.of(0)
const OF_CHILD = Uint8Array.of(1)

/**
 * The key of the node of each item, first to last. A key stands for the owner and for all bytes from the start of the input to this item,
 * so a node is known by its key alone.
 * @param secret kept from readers of the database, because with it a reader can check guesses at content.
 */
export function hashNodes(secret: Uint8Array, ownerKey: Uint8Array, items: readonly StoredItem[]): Buffer[] {
  let parent: Uint8Array | undefined
  return items.map(({ json }) => {
    const hash = createHmac('sha256', secret).update(parent === undefined ? OF_ROOT : OF_CHILD)
    const key = hash
      .update(parent ?? ownerKey)
      .update(json)
      .digest()
      .subarray(0, KEY_BYTES)
    parent = key
    return key
  })
}

/**
 * How many of the first keys are in the tree. A node is there only with its parent, so the number is searched in steps that double from the
 * end, where a resent history differs, and then by halves.
 */
export function countKnownNodes(keys: readonly Uint8Array[], isKnown: (key: Uint8Array) => boolean): number {
  const at = (count: number) => {
    const key = keys[count - 1]
    return key === undefined || isKnown(key)
  }
  let [known, unknown] = [0, keys.length + 1]
  for (let step = 1; unknown - known > 1; step *= 2) {
    const count = Math.max(known, unknown - step)
    if (!at(count)) unknown = count
    else {
      known = count
      break
    }
  }
  while (unknown - known > 1) {
    const middle = Math.floor((known + unknown) / 2)
    if (at(middle)) known = middle
    else unknown = middle
  }
  return known
}
