// The shared model catalog: the entries read from an upstream model list, and the snapshot of them
// that every worker shows (bridge.md 6.1, 6.2).
import { compareCodePoints, type JsonObject, type JsonValue } from '../json.ts'
import { revisionOf } from '../revision.ts'
import type { ProviderKind } from '../support/support-vocabulary.ts'
import type { ModelFacts } from './model-facts.ts'

export const CATALOG_SCHEMA_VERSION = 'gateway.model-catalog.v1'

/** A snapshot is shown without a new discovery for this long; at exactly this age it is refreshed. */
const CATALOG_TTL_MS = 30_000
/** Time limit of one discovery started by a machine endpoint, a model list or the warm-up. */
export const CATALOG_DISCOVERY_TIMEOUT_MS = 5_000
/** Largest accepted inventory; a larger one counts as a failed discovery. */
export const CATALOG_MODELS_MAX = 1024
export const CATALOG_SERIALIZED_BYTES_MAX = 2 * 1024 * 1024
/** The same for the inventory of an external profile, whose entries have no metadata (providers.md 3). */
export const EXTERNAL_MODELS_MAX = 10_000
export const EXTERNAL_SERIALIZED_BYTES_MAX = 4 * 1024 * 1024
/** Longest id, owner or type: the longest text that a machine document may hold. */
export const TEXT_CHARACTERS_MAX = 512
/** Metadata nested deeper than this is cut, so that a hostile document cannot exhaust the stack. */
const METADATA_DEPTH_MAX = 8

/** One model as the upstream lists it, before it belongs to a snapshot. */
export interface CatalogEntry {
  readonly id: string
  readonly ownedBy: string | null
  /** The upstream's `type`, such as `chat` or `embedder`. */
  readonly modelType: string | null
  readonly available: boolean
  readonly deprecated: boolean
  readonly providerMetadata: JsonObject
  /** Only of an external provider that states any. */
  readonly facts?: ModelFacts
}

/** The result of one discovery: entries in upstream order, and how many list items were unusable or repeated. */
export interface CatalogModels {
  readonly entries: readonly CatalogEntry[]
  readonly skippedCount: number
  readonly duplicateCount: number
}

/** What a profile file declares about a model, and the model list of an external provider states. */
export interface DeclaredModel {
  /** In tokens. */
  readonly inputTokenLimit?: number
  /** In tokens. */
  readonly outputTokenLimit?: number
  /** False when the profile switches token counting off. */
  readonly canCountTokens: boolean
}

export interface CatalogModel extends CatalogEntry {
  readonly providerKind: ProviderKind
  readonly providerProfileId: string
  /** RFC 3339 UTC: of the discovery, or of the start for an alias that only the profile file describes. */
  readonly discoveredAt: string
  readonly stale: boolean
  readonly inventoryRevision: string
  /** Of an alias that only the profile file describes, and of a discovered model of an external profile. */
  readonly declared?: DeclaredModel
}

/** What one discovery of a profile has found, and whether the provider still confirms it. */
export interface ProfileInventory {
  readonly models: CatalogModels
  readonly inventoryRevision: string
  /** RFC 3339 UTC. */
  readonly discoveredAt: string
  readonly expiresAt: string
  /** A later discovery has failed. */
  readonly stale: boolean
}

/** How well a snapshot knows the models of one profile that is asked for them. */
export interface InventoryState {
  readonly profileId: string
  /** As noted at the snapshot; passing the expiry time alone does not change it. `absent`: no discovery has succeeded. */
  readonly state: 'fresh' | 'stale' | 'absent'
  /** null while absent, as the times. */
  readonly inventoryRevision: string | null
  readonly discoveredAt: string | null
  readonly expiresAt: string | null
}

export interface CatalogSnapshot {
  readonly schemaVersion: typeof CATALOG_SCHEMA_VERSION
  readonly providerProfileId: string
  readonly inventoryRevision: string
  /** RFC 3339 UTC, or `process-startup` for a catalog that only the profile file fills. */
  readonly discoveredAt: string
  /** RFC 3339 UTC, or `process-restart`. */
  readonly expiresAt: string
  readonly stale: boolean
  /** `profile_file`: never discovered, never out of date. */
  readonly source: 'provider_api' | 'stale_cache' | 'profile_file'
  /** Of each profile that is asked for its models, in the order of the file. */
  readonly inventories: readonly InventoryState[]
  /** Discovered models in upstream order, then aliases by name. */
  readonly models: readonly CatalogModel[]
}

/** A failed discovery as processes send it to each other: the members of the error that every caller gets, and the cause for the log. */
export interface CatalogFailure {
  readonly code: string
  readonly status: number
  readonly kind: string
  readonly message: string
  readonly param: string | null
  readonly reason: string | null
  readonly retryAfter: string | null
  /** For the log only. */
  readonly cause: string | null
}

/** Raised for an upstream model list that breaks a rule of the catalog. */
export class CatalogError extends Error {
  readonly reason: 'not_a_list' | 'no_valid_entry' | 'too_many_models' | 'too_large' | 'endless_pages'

  constructor(reason: CatalogError['reason']) {
    super(`The upstream model list cannot be used: ${reason.replaceAll('_', ' ')}.`)
    this.name = 'CatalogError'
    this.reason = reason
  }
}

export interface CatalogBounds {
  readonly modelsMax: number
  readonly serializedBytesMax: number
}

export const NATIVE_BOUNDS: CatalogBounds = {
  modelsMax: CATALOG_MODELS_MAX,
  serializedBytesMax: CATALOG_SERIALIZED_BYTES_MAX
}

export const EXTERNAL_BOUNDS: CatalogBounds = {
  modelsMax: EXTERNAL_MODELS_MAX,
  serializedBytesMax: EXTERNAL_SERIALIZED_BYTES_MAX
}

/** The result of one discovery while its pages arrive. */
export interface CatalogCollector {
  /** Adds the items of a page in order; undefined stands for one that is unusable. Throws `CatalogError` for too many. */
  add(items: ReadonlyArray<CatalogEntry | undefined>): void
  /** Throws `CatalogError` when the list is too large, or has items of which none is valid. */
  finish(): CatalogModels
}

/** Creates a collector. Only the first of entries with equal ids is kept, and items without an entry are skipped; both are counted. */
export function createCatalogCollector({ modelsMax, serializedBytesMax }: CatalogBounds): CatalogCollector {
  const entries = new Map<string, CatalogEntry>()
  let skippedCount = 0
  let duplicateCount = 0
  return {
    add(items) {
      if (entries.size + skippedCount + duplicateCount + items.length > modelsMax) {
        throw new CatalogError('too_many_models')
      }
      for (const entry of items) {
        if (entry === undefined) skippedCount += 1
        else if (entries.has(entry.id)) duplicateCount += 1
        else entries.set(entry.id, entry)
      }
    },
    finish() {
      if (entries.size === 0 && skippedCount > 0) throw new CatalogError('no_valid_entry')
      const models = { entries: [...entries.values()], skippedCount, duplicateCount }
      if (Buffer.byteLength(JSON.stringify(models.entries)) > serializedBytesMax) throw new CatalogError('too_large')
      return models
    }
  }
}

/** Reads the `data` list of a native upstream's model response. Throws `CatalogError` for a list that cannot be used. */
export function readCatalogModels(list: unknown): CatalogModels {
  if (!Array.isArray(list)) throw new CatalogError('not_a_list')
  const collector = createCatalogCollector(NATIVE_BOUNDS)
  collector.add(list.map(readCatalogEntry))
  return collector.finish()
}

/** The inventory of a profile after a discovery at `nowMs`, in milliseconds since the epoch. */
export function createInventory(profileId: string, models: CatalogModels, nowMs: number): ProfileInventory {
  return {
    models,
    inventoryRevision: computeInventoryRevision(models.entries, profileId),
    discoveredAt: new Date(nowMs).toISOString(),
    expiresAt: new Date(nowMs + CATALOG_TTL_MS).toISOString(),
    stale: false
  }
}

export function describeInventory(profileId: string, inventory: ProfileInventory | undefined): InventoryState {
  if (inventory === undefined)
    return { profileId, state: 'absent', inventoryRevision: null, discoveredAt: null, expiresAt: null }
  const { inventoryRevision, discoveredAt, expiresAt, stale } = inventory
  return { profileId, state: stale ? 'stale' : 'fresh', inventoryRevision, discoveredAt, expiresAt }
}

/** The snapshot of one profile's inventory alone. */
export function createCatalogSnapshot(
  inventory: ProfileInventory,
  { profileId, providerKind }: { profileId: string; providerKind: ProviderKind }
): CatalogSnapshot {
  const { models, inventoryRevision, discoveredAt, expiresAt, stale } = inventory
  return {
    schemaVersion: CATALOG_SCHEMA_VERSION,
    providerProfileId: profileId,
    inventoryRevision,
    discoveredAt,
    expiresAt,
    stale,
    source: stale ? 'stale_cache' : 'provider_api',
    inventories: [describeInventory(profileId, inventory)],
    models: models.entries.map(entry => ({
      ...entry,
      providerKind,
      providerProfileId: profileId,
      discoveredAt,
      stale,
      inventoryRevision
    }))
  }
}

/** Whether an inventory may be shown without a new discovery: it is not stale and its expiry time is in the future. */
export function isFresh({ stale, expiresAt }: Pick<ProfileInventory, 'stale' | 'expiresAt'>, nowMs: number): boolean {
  return !stale && isAhead(expiresAt, nowMs)
}

/** A time that is further ahead than the lifetime of an inventory was written before the clock was set back. */
function isAhead(expiresAt: string, nowMs: number): boolean {
  const leftMs = Date.parse(expiresAt) - nowMs
  return leftMs > 0 && leftMs <= CATALOG_TTL_MS
}

/** Whether a snapshot knows the models of a profile, and needs no new discovery of them. */
export function isInventoryFresh(snapshot: CatalogSnapshot | undefined, profileId: string, nowMs: number): boolean {
  const known = snapshot?.inventories.find(inventory => inventory.profileId === profileId)
  return known?.state === 'fresh' && isAhead(known.expiresAt ?? '', nowMs)
}

const idsOf = new WeakMap<CatalogSnapshot, ReadonlySet<string>>()

/** Whether a snapshot shows this public name. */
export function isListed(snapshot: CatalogSnapshot, id: string): boolean {
  let ids = idsOf.get(snapshot)
  if (ids === undefined) {
    ids = new Set(snapshot.models.map(model => model.id))
    idsOf.set(snapshot, ids)
  }
  return ids.has(id)
}

/** Hash of the inventory's content without times, so that equal inventories have equal revisions in every process. */
export function computeInventoryRevision(entries: readonly CatalogEntry[], providerProfileId: string): string {
  const models = [...entries]
    .sort((left, right) => compareCodePoints(left.id, right.id))
    .map(entry => ({
      available: entry.available,
      deprecated: entry.deprecated,
      id: entry.id,
      model_type: entry.modelType,
      owned_by: entry.ownedBy,
      provider_metadata: entry.providerMetadata,
      ...(entry.facts !== undefined && { facts: { ...entry.facts } })
    }))
  const content = {
    models,
    provider_profile_id: providerProfileId,
    schema_version: CATALOG_SCHEMA_VERSION
  }
  return revisionOf(content, { keepNulls: true })
}

const NAMED_MEMBERS = new Set(['id', 'owned_by', 'type', 'available', 'deprecated'])

/** Reads an item of a native upstream's list: what the catalog has no name for becomes metadata. Undefined for an item without an id. */
export function readCatalogEntry(item: unknown): CatalogEntry | undefined {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return undefined
  const members = new Map<string, unknown>(Object.entries(item))
  const id = members.get('id')
  if (typeof id !== 'string' || id === '' || id.length > TEXT_CHARACTERS_MAX) return undefined
  const providerMetadata: Record<string, JsonValue> = {}
  for (const [name, value] of members) {
    if (NAMED_MEMBERS.has(name) || isSensitiveName(name)) continue
    const kept = keepMetadata(value, 1)
    if (kept !== undefined) providerMetadata[name] = kept
  }
  return {
    id,
    ownedBy: textOrNull(members.get('owned_by')),
    modelType: textOrNull(members.get('type')),
    available: members.get('available') !== false,
    deprecated: members.get('deprecated') === true,
    providerMetadata
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= TEXT_CHARACTERS_MAX ? value : null
}

function keepMetadata(value: unknown, depth: number): JsonValue | undefined {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'object' || depth >= METADATA_DEPTH_MAX) return undefined
  if (Array.isArray(value)) {
    return value.map(item => keepMetadata(item, depth + 1)).filter(item => item !== undefined)
  }
  const kept: Record<string, JsonValue> = {}
  for (const [name, member] of Object.entries(value)) {
    if (isSensitiveName(name)) continue
    const keptMember = keepMetadata(member, depth + 1)
    if (keptMember !== undefined) kept[name] = keptMember
  }
  return kept
}

const SENSITIVE_NAMES = new Set([
  'access_token',
  'api_key',
  'authorization',
  'cookie',
  'credential',
  'credentials',
  'headers',
  'password',
  'refresh_token',
  'secret',
  'set_cookie',
  'token',
  'x_headers'
])
const SENSITIVE_ENDING = /_(api_key|authorization|credentials?|password|secret|token)$/

function isSensitiveName(name: string): boolean {
  const plain = name.toLowerCase().replaceAll('-', '_')
  return SENSITIVE_NAMES.has(plain) || SENSITIVE_ENDING.test(plain)
}
