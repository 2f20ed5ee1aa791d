// The owners of records, by the hash of their key name and credential.
import type { Owner } from '../../../shared/memory/store.ts'
import { hashOwner } from '../owner-key.ts'
import type { SqliteContext } from './context.ts'

export interface Owners {
  hash(owner: Owner): Buffer
  /** Undefined: the owner has stored nothing. */
  find(owner: Owner): number | undefined
  ensure(owner: Owner): number
  readBytes(owner: number): number
  /** '' where the name was sealed with a key that is no longer given: a list of threads shows the others. */
  openName(name: Buffer): string
  /** Removes some owners that have nothing stored. */
  purge(): void
}

const PLACE = 'owner'

export function createOwners({ database, sealing, ownerSecret }: SqliteContext): Owners {
  const select = database.prepare<[Buffer], number>('SELECT number FROM owners WHERE key = ?').pluck()
  const insert = database.prepare<[Buffer, Buffer]>('INSERT INTO owners (key, name) VALUES (?, ?)')
  const selectBytes = database.prepare<[number], number>('SELECT bytes FROM owners WHERE number = ?').pluck()
  const deleteEmpty = database.prepare(
    `DELETE FROM owners WHERE bytes = 0 AND NOT EXISTS (SELECT 1 FROM threads WHERE threads.owner = owners.number)
     AND NOT EXISTS (SELECT 1 FROM items WHERE items.owner = owners.number)`
  )
  const hash = (owner: Owner) => hashOwner(ownerSecret, owner)
  const find = (owner: Owner) => select.get(hash(owner))

  return {
    hash,
    find,
    ensure: owner =>
      find(owner) ?? Number(insert.run(hash(owner), sealing.seal(Buffer.from(owner.name), PLACE)).lastInsertRowid),
    readBytes: owner => selectBytes.get(owner) ?? 0,
    openName(name) {
      try {
        return sealing.open(name, PLACE).toString()
      } catch {
        return ''
      }
    },
    purge: () => void deleteEmpty.run()
  }
}
