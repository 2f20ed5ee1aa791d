// Items of inputs, outputs and conversations. Each is stored once and counts what holds it: a response, a place in a conversation, or the
// next node of an input. An item that nothing holds any more is deleted.
import type { StoredItem } from '../../../shared/memory/store.ts'
import { countKnownNodes, hashNodes } from '../nodes.ts'
import type { Place, SqliteContext } from './context.ts'

export interface NewInput extends Place {
  readonly items: readonly StoredItem[]
  /** The owner's hash where nodes are shared with other inputs; without it each item is stored for itself. */
  readonly ownerKey: Buffer | undefined
}

/** Items with consecutive numbers. */
export interface ItemRange {
  readonly first: number
  readonly count: number
}

export interface NumberedItem {
  readonly number: number
  readonly id: string
}

interface ContentRow extends NumberedItem {
  readonly content: Buffer
}

export interface Items {
  /** Stores an input as a branch of the tree, and holds its last node. Undefined for an empty input. */
  addInput(input: NewInput): number | undefined
  addOutput(place: Place, items: readonly StoredItem[]): ItemRange
  hold(number: number): void
  release(number: number): void
  releaseRange(range: ItemRange): void
  /** The items from the root to this node. */
  readInput(node: number | undefined): StoredItem[]
  /** The same without content. */
  listInput(node: number | undefined): NumberedItem[]
  readRange(range: ItemRange): StoredItem[]
  read(item: NumberedItem): StoredItem
  open(row: { readonly id: string; readonly content: Buffer }): StoredItem
}

/** The path from a node to its root. */
const PATH = `WITH RECURSIVE path (number, parent, id, depth) AS (
    SELECT number, parent, id, 0 FROM items WHERE number = ?
    UNION ALL
    SELECT items.number, items.parent, items.id, depth + 1 FROM path JOIN items ON items.number = path.parent
  )`

export function createItems({ database, sealing, ledger, nodeSecret }: SqliteContext): Items {
  const insertItem = database.prepare<[number, number, string, number | undefined, Buffer | undefined, number]>(
    'INSERT INTO items (owner, thread, id, parent, key, holders, bytes) VALUES (?, ?, ?, ?, ?, 1, ?)'
  )
  const insertContent = database.prepare<[number, Buffer]>('INSERT INTO contents (item, content) VALUES (?, ?)')
  const findNode = database.prepare<[Uint8Array], number>('SELECT number FROM items WHERE key = ?').pluck()
  const addHolder = database.prepare<[number]>('UPDATE items SET holders = holders + 1 WHERE number = ?')
  const removeHolder = database.prepare<[number], Place & { holders: number; parent: number | null; bytes: number }>(
    'UPDATE items SET holders = holders - 1 WHERE number = ? RETURNING holders, parent, owner, thread, bytes'
  )
  const deleteItem = database.prepare<[number]>('DELETE FROM items WHERE number = ?')
  const deleteContent = database.prepare<[number]>('DELETE FROM contents WHERE item = ?')
  const selectPath = database.prepare<[number], NumberedItem>(`${PATH} SELECT number, id FROM path ORDER BY depth DESC`)
  const selectPathContent = database.prepare<[number], ContentRow>(
    `${PATH} SELECT number, id, content FROM path JOIN contents ON item = number ORDER BY depth DESC`
  )
  const selectRange = database.prepare<[number, number], ContentRow>(
    `SELECT number, id, content FROM items JOIN contents ON item = number
     WHERE number >= ? AND number < ? ORDER BY number`
  )
  const selectContent = database.prepare<[number], Buffer>('SELECT content FROM contents WHERE item = ?').pluck()

  function insert(
    { owner, thread }: Place,
    { id, json }: StoredItem,
    node?: { readonly parent: number | undefined; readonly key: Buffer | undefined }
  ): number {
    const bytes = json.length
    const number = Number(insertItem.run(owner, thread, id, node?.parent, node?.key, bytes).lastInsertRowid)
    insertContent.run(number, sealing.seal(json, `item ${id}`))
    ledger.charge({ owner, thread }, { bytes })
    return number
  }

  const open = ({ id, content }: { readonly id: string; readonly content: Buffer }): StoredItem => ({
    id,
    json: sealing.open(content, `item ${id}`)
  })

  function release(number: number): void {
    let at: number | null = number
    while (at !== null) {
      const row = removeHolder.get(at)
      if (row === undefined || row.holders > 0) return
      deleteItem.run(at)
      deleteContent.run(at)
      ledger.charge(row, { bytes: -row.bytes })
      at = row.parent
    }
  }

  return {
    addInput({ items, ownerKey, ...place }) {
      const keys = ownerKey === undefined ? [] : hashNodes(nodeSecret, ownerKey, items)
      const known = countKnownNodes(keys, key => findNode.get(key) !== undefined)
      const lastKnown = keys[known - 1]
      let parent = lastKnown === undefined ? undefined : findNode.get(lastKnown)
      // The new child, or else the response, holds the last known node.
      if (parent !== undefined) addHolder.run(parent)
      for (const [index, item] of items.slice(known).entries()) {
        parent = insert(place, item, { parent, key: keys[known + index] })
      }
      return parent
    },
    addOutput(place, items) {
      const numbers = items.map(item => insert(place, item))
      return { first: numbers[0] ?? 0, count: numbers.length }
    },
    hold: number => void addHolder.run(number),
    release,
    releaseRange({ first, count }) {
      for (let number = first; number < first + count; number++) release(number)
    },
    readInput: node => (node === undefined ? [] : selectPathContent.all(node).map(open)),
    listInput: node => (node === undefined ? [] : selectPath.all(node)),
    readRange: ({ first, count }) => (count === 0 ? [] : selectRange.all(first, first + count).map(open)),
    read({ number, id }) {
      const content = selectContent.get(number)
      if (content === undefined) throw new Error(`the item ${number} has no content`)
      return open({ id, content })
    },
    open
  }
}
