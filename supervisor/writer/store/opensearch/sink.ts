// The sink that keeps records as documents of a search server (operations contract, section 8.5).
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
import { installTarget } from './install.ts'
import { mergeRedactions, type Redaction, redactRecord, redactStored } from './redaction.ts'
import { refuseResponse, type SearchServer, SearchServerError } from './server.ts'
import type { SearchTarget } from './template.ts'

/** Uncompressed bytes of one bulk call: far below what servers take, 10 MB on small hosted ones. */
export const BULK_BYTES_MAX = 5 * 1024 * 1024
/** Calls for items that find the server busy; then the queue of the sink waits longer, or spills. */
const ATTEMPTS_MAX = 5
/** Redactions that are remembered for records that have not arrived yet. */
const REDACTIONS_MAX = 10_000

export interface OpensearchSinkOptions extends SearchTarget {
  /** First pause before items are sent again; it doubles with each attempt. */
  readonly retryMinMs: number
}

/** Creates the sink; it installs its template with the first write, and again after each failure. It closes the server's connections. */
export function createOpensearchSink(
  { server, log, random }: { server: SearchServer; log: Logger; random: () => number },
  options: OpensearchSinkOptions
): RedactableSink {
  const { index } = options
  const action: BulkAction = options.isDataStream ? 'create' : 'index'
  const closing = new AbortController()
  /** Redactions of the records that may still come, from the queue or the spill, with their content. */
  const redactions = new Map<string, Redaction>()
  let isInstalled = false

  async function write(records: readonly TrafficRecord[]): Promise<void> {
    try {
      if (!isInstalled) await installTarget(server, options, log)
      isInstalled = true
      await store(records)
    } catch (error) {
      // The next server at this address may be a new one.
      if (!(error instanceof RecordsRefusedError)) isInstalled = false
      throw error
    }
  }

  async function store(records: readonly TrafficRecord[]): Promise<void> {
    const applied = new Map<string, Redaction>()
    const entries = records.map(record => {
      const redaction = redactions.get(record.id)
      if (redaction !== undefined) applied.set(record.id, redaction)
      return writeBulkEntry(redaction === undefined ? record : redactRecord(record, redaction), action, index)
    })
    const refused = new Map<string, string>()
    const duplicates = new Set<string>()
    for (const part of partEntries(entries, BULK_BYTES_MAX)) await storePart(part, { refused, duplicates })
    await repeatRedactions(records, { applied, duplicates })
    if (refused.size > 0) {
      const details = [...new Set(refused.values())].slice(0, 3).join(', ')
      throw new RecordsRefusedError(
        new Error(`The search server refused documents: ${details}`),
        new Set(refused.keys())
      )
    }
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
        if (outcome.kind === 'refused') refused.set(entry.record.id, outcome.detail)
        else if (outcome.kind === 'duplicate') duplicates.add(entry.record.id)
        else if (outcome.kind === 'busy') busy.push(entry)
        else if (outcome.kind === 'unavailable') throw unavailable(outcome.detail)
        if (outcome.kind === 'busy') detail = outcome.detail
      }
      if (busy.length === 0) return
      if (attempt === ATTEMPTS_MAX) throw unavailable(detail)
      const pauseMs = options.retryMinMs * 2 ** (attempt - 1)
      await setTimeout(pauseMs / 2 + (pauseMs / 2) * random(), undefined, { signal: closing.signal })
      left = busy
    }
  }

  async function sendBulk(entries: readonly BulkEntry[]): Promise<ItemOutcome[]> {
    const lines = entries.map(entry => entry.lines).join('')
    const response = await server.call({ method: 'POST', path: '/_bulk', lines })
    if (response.status === 200) return readBulkOutcomes(response.body, entries, action)
    if (response.status !== 413) throw refuseResponse('the bulk call', response)
    // Too large for this server: in halves, down to the record that is too large by itself.
    if (entries.length === 1) return [{ kind: 'refused', detail: '413' }]
    const half = entries.length >> 1
    return [...(await sendBulk(entries.slice(0, half))), ...(await sendBulk(entries.slice(half)))]
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
