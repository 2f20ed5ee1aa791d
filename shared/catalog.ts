// The shared model catalog: the entries read from an upstream model list, and the snapshot of them
// that every worker shows (bridge.md 6.1, 6.2).
import { compareCodePoints, type JsonObject, type JsonValue } from './json.ts'
import type { ModelFacts } from './model-facts.ts'
import { revisionOf } from './revision.ts'
import type { ProviderKind } from './support-vocabulary.ts'

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

/** What a profile file declares about a model that no provider describes. */
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
  /** Only of an alias that only the profile file describes. */
  readonly declared?: DeclaredModel
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

/** Turns the discovered entries of a profile into a snapshot. `nowMs` is the time of discovery in milliseconds since the epoch. */
export function createCatalogSnapshot(
  models: CatalogModels,
  options: { providerProfileId: string; providerKind: ProviderKind; nowMs: number }
): CatalogSnapshot {
  const { providerProfileId, providerKind, nowMs } = options
  const inventoryRevision = computeInventoryRevision(models.entries, providerProfileId)
  const discoveredAt = new Date(nowMs).toISOString()
  return {
    schemaVersion: CATALOG_SCHEMA_VERSION,
    providerProfileId,
    inventoryRevision,
    discoveredAt,
    expiresAt: new Date(nowMs + CATALOG_TTL_MS).toISOString(),
    stale: false,
    source: 'provider_api',
    models: models.entries.map(entry => ({
      ...entry,
      providerKind,
      providerProfileId,
      discoveredAt,
      stale: false,
      inventoryRevision
    }))
  }
}

/** The same inventory, marked as no longer confirmed by the upstream. The revision stays because the content does not change. */
export function markStale(snapshot: CatalogSnapshot): CatalogSnapshot {
  return {
    ...snapshot,
    stale: true,
    source: 'stale_cache',
    models: snapshot.models.map(model => ({ ...model, stale: true }))
  }
}

/** Whether a snapshot may be shown without a new discovery: it needs none, or it is not stale and its expiry time is in the future. */
export function isFresh(snapshot: CatalogSnapshot | undefined, nowMs: number): snapshot is CatalogSnapshot {
  if (snapshot === undefined) return false
  return !needsDiscovery(snapshot) || (!snapshot.stale && nowMs < Date.parse(snapshot.expiresAt))
}

/** False for a catalog that only the profile file fills: no refresh can change it. */
export function needsDiscovery(snapshot: CatalogSnapshot): boolean {
  return snapshot.source !== 'profile_file'
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
      provider_metadata: entry.providerMetadata
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
