// The sink that keeps records as documents of a search server (operations.md 8.5).
import { setTimeout } from 'node:timers/promises'
import type { Logger } from '../../../../shared/logging.ts'
import type { TrafficRecord } from '../../../../shared/traffic/record.ts'
import { RecordsRefusedError, type RedactableSink } from '../../sink.ts'
import {
  type BulkAction,
  type BulkEntry,
  type ItemOutcome,
  partEntries,
  readBulkOutcomes,
  writeBulkEntry
} from './bulk.ts'
import { findStoredIds } from './documents.ts'
import { installTarget, installTemplate } from './install.ts'
import { mergeRedactions, type Redaction, redactRecord, redactStored } from './redaction.ts'
import { refuseRecords, type SearchResponse, type SearchServer, SearchServerError } from './server.ts'
import type { SearchTarget } from './template.ts'

/** Uncompressed bytes of one bulk call: below what servers take, which is 10 MB on small hosted ones. */
const BULK_BYTES_MAX = 5 * 1024 * 1024
/** Calls for items that find the server busy; then the queue of the sink waits longer, or spills. */
const ATTEMPTS_MAX = 5
/** Redactions that are remembered for records that have not arrived yet. */
const REDACTIONS_MAX = 10_000
/** More than the records of the calls that can fail before one succeeds: the queue repeats the same batch. */
const UNCERTAIN_MAX = 10_000

export interface OpensearchSinkOptions extends SearchTarget {
  /** First pause before items are sent again; it doubles with each attempt. */
  readonly retryMinMs: number
}

export interface OpensearchSinkDependencies {
  readonly server: SearchServer
  readonly log: Logger
  /** From 0 to 1. */
  readonly random: () => number
}

/**
 * Creates the sink, which closes the connections to the server. It installs its template with the first write and where it is gone.
 */
export function createOpensearchSink(
  { server, log, random }: OpensearchSinkDependencies,
  options: OpensearchSinkOptions
): RedactableSink {
  const { index } = options
  const action: BulkAction = options.isDataStream ? 'create' : 'index'
  const closing = new AbortController()
  /** For records that may still come, from the queue or the spill, with their content. */
  const redactions = new Map<string, Redaction>()
  /** Records of calls without a response: they may be stored, and the data stream may have rolled over since. */
  const uncertain = new Set<string>()
  let isInstalled = false

  async function write(records: readonly TrafficRecord[]): Promise<void> {
    try {
      await store(records)
    } catch (error) {
      // The next server at this address may be a new one.
      if (!(error instanceof RecordsRefusedError)) isInstalled = false
      throw error
    }
  }

  /**
   * Before each bulk call: a server without the template would make an index with types of its own guess from the first records. With the
   * template it makes a stream or an index that is gone again as it was.
   */
  async function prepare(): Promise<void> {
    if (isInstalled) return installTemplate(server, options)
    await installTarget(server, options, log)
    isInstalled = true
  }

  async function store(records: readonly TrafficRecord[]): Promise<void> {
    const duplicates = await findDuplicates(records)
    const applied = new Map<string, Redaction>()
    const entries: BulkEntry[] = []
    for (const record of records) {
      if (duplicates.has(record.id)) continue
      const redaction = redactions.get(record.id)
      if (redaction !== undefined) applied.set(record.id, redaction)
      entries.push(writeBulkEntry(redaction === undefined ? record : redactRecord(record, redaction), action, index))
    }
    const refused = new Map<string, string>()
    for (const part of partEntries(entries, BULK_BYTES_MAX)) await storePart(part, { refused, duplicates })
    await repeatRedactions(records, { applied, duplicates })
    for (const { id } of records) uncertain.delete(id)
    if (refused.size > 0) {
      const details = [...new Set(refused.values())].slice(0, 3).join(', ')
      const cause = new Error(`The search server refused documents: ${details}`)
      throw new RecordsRefusedError(cause, new Set(refused.keys()))
    }
  }

  /** `create` recognizes a stored record only in the index that the data stream writes now, so the uncertain ones are searched. */
  async function findDuplicates(records: readonly TrafficRecord[]): Promise<Set<string>> {
    const ids = records.map(({ id }) => id).filter(id => uncertain.has(id))
    return ids.length === 0 ? new Set() : findStoredIds(server, index, ids)
  }

  /** Sends the part until each of its items is stored or refused. */
  async function storePart(
    part: readonly BulkEntry[],
    { refused, duplicates }: { refused: Map<string, string>; duplicates: Set<string> }
  ): Promise<void> {
    let left = part
    for (let attempt = 1; ; attempt += 1) {
      const outcomes = await sendBulk(left)
      const busy: BulkEntry[] = []
      let detail = ''
      for (const [position, entry] of left.entries()) {
        const outcome = outcomes[position] as ItemOutcome
        if (outcome.kind === 'unavailable') throw unavailable(outcome.detail)
        if (outcome.kind === 'refused') refused.set(entry.record.id, outcome.detail)
        if (outcome.kind === 'duplicate') duplicates.add(entry.record.id)
        if (outcome.kind !== 'busy') continue
        busy.push(entry)
        detail = outcome.detail
      }
      if (busy.length === 0) return
      if (attempt === ATTEMPTS_MAX) throw unavailable(detail)
      const pauseMs = options.retryMinMs * 2 ** (attempt - 1)
      await setTimeout(pauseMs / 2 + (pauseMs / 2) * random(), undefined, { signal: closing.signal })
      left = busy
    }
  }

  async function sendBulk(entries: readonly BulkEntry[]): Promise<ItemOutcome[]> {
    await prepare()
    let response: SearchResponse
    try {
      const lines = entries.map(entry => entry.lines).join('')
      response = await server.call({ method: 'POST', path: '/_bulk', lines })
      if (response.status === 200) return readBulkOutcomes(response.body, entries, action)
      if (response.status !== 413) throw refuseRecords('the bulk call', response)
    } catch (error) {
      noteUncertain(entries)
      throw error
    }
    // Too large for this server: in halves, down to the record that is too large by itself.
    if (entries.length === 1) return [{ kind: 'refused', detail: '413' }]
    const half = entries.length >> 1
    return [...(await sendBulk(entries.slice(0, half))), ...(await sendBulk(entries.slice(half)))]
  }

  function noteUncertain(entries: readonly BulkEntry[]): void {
    // Without a data stream a record that comes again replaces itself.
    if (!options.isDataStream) return
    for (const { record } of entries) uncertain.add(record.id)
    for (const oldest of uncertain) {
      if (uncertain.size <= UNCERTAIN_MAX) break
      uncertain.delete(oldest)
    }
  }

  /** A redaction that came while the batch was sent, or whose record an earlier call had stored, has missed the document. */
  async function repeatRedactions(
    records: readonly TrafficRecord[],
    { applied, duplicates }: { applied: ReadonlyMap<string, Redaction>; duplicates: ReadonlySet<string> }
  ): Promise<void> {
    if (redactions.size === 0) return
    for (const { id } of records) {
      const redaction = redactions.get(id)
      if (redaction === undefined || (applied.get(id) === redaction && !duplicates.has(id))) continue
      await redactStored(server, index, { id, ...redaction })
    }
  }

  return {
    name: 'opensearch',
    write,
    redact(id, fields, metadata) {
      const redaction = mergeRedactions(redactions.get(id), { fields, metadata })
      redactions.delete(id)
      redactions.set(id, redaction)
      const [oldest] = redactions.keys()
      if (redactions.size > REDACTIONS_MAX && oldest !== undefined) redactions.delete(oldest)
      return redactStored(server, index, { id, ...redaction })
    },
    async close() {
      closing.abort()
      await server.close()
    }
  }
}

function unavailable(detail: string): SearchServerError {
  return new SearchServerError(`The search server does not store documents now: ${detail}`)
}
