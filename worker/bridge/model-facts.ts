// What providers state about the models of dynamic inventories, by public name: admission needs it
// before any I/O, on the event loop and in the threads of the translation. The event loop learns it
// from the catalog; a thread is handed it with each task, in memory that both share.

import { asBuffer } from '../../shared/bytes.ts'
import type { CatalogSnapshot } from '../../shared/catalog/catalog.ts'
import type { ModelFacts } from '../../shared/catalog/model-facts.ts'

/** Facts on their way to a thread: written once, never changed. */
export interface PackedFacts {
  readonly revision: string
  readonly bytes: SharedArrayBuffer
}

/** The facts as of one inventory. Changes in place, because the routes that hold it are handed out once. */
export interface KnownFacts {
  /** Of the inventory; '' before the first one. */
  revision: string
  byName: ReadonlyMap<string, ModelFacts>
}

export function createKnownFacts(): KnownFacts {
  return { revision: '', byName: new Map() }
}

/** Takes over what a snapshot of the catalog knows. */
export function learnFacts(known: KnownFacts, { inventoryRevision, models }: CatalogSnapshot): void {
  if (known.revision === inventoryRevision) return
  known.byName = new Map(models.flatMap(({ id, facts }) => (facts === undefined ? [] : [[id, facts]])))
  known.revision = inventoryRevision
}

const packedFacts = new WeakMap<ReadonlyMap<string, ModelFacts>, PackedFacts>()

/** The facts for a thread; undefined before the first inventory. They are packed once for each one. */
export function packFacts({ revision, byName }: KnownFacts): PackedFacts | undefined {
  if (revision === '') return undefined
  const known = packedFacts.get(byName)
  if (known !== undefined) return known
  const text = Buffer.from(JSON.stringify([...byName]))
  const bytes = new SharedArrayBuffer(text.byteLength)
  text.copy(new Uint8Array(bytes))
  const packed = { revision, bytes }
  packedFacts.set(byName, packed)
  return packed
}

/** Takes over packed facts. They are parsed once for each inventory. */
export function unpackFacts(known: KnownFacts, { revision, bytes }: PackedFacts): void {
  if (known.revision === revision) return
  known.byName = new Map(JSON.parse(asBuffer(new Uint8Array(bytes)).toString('utf8')))
  known.revision = revision
}
