// The SELECT statements of both relational stores. A dialect has only the differences, so that both
// stores give the same result for the same query (operations.md 9.1).
import type { PurgeRequest } from '../../../shared/traffic/messages.ts'
import {
  type PageRequest,
  type SumKeyName,
  type SumsRequest,
  type TrafficFilter,
  UNKNOWN_KEY,
  WINDOW_RECORDS
} from '../../../shared/traffic/query.ts'
import type { RetentionCutoffs } from '../../../shared/traffic/retention.ts'
import { FLAG_COLUMNS, HOUR_SUMS, MEMBER_COLUMNS, MINUTE_SUMS, SUM_COLUMNS } from './columns.ts'

export interface Dialect {
  /** Placeholder of the value with this number, counted from 1. */
  placeholder(number: number): string
  /** Selects a time in the form of records. */
  selectTime(column: string): string
  /** Selects a JSON column as text. */
  selectJson(column: string): string
  /** A condition without an index of its own: the list is walked in its order, not read whole and sorted. */
  isWalked(condition: string): string
  /** The table read by the index of an id that few records share, and a condition that this index needs besides the equality. */
  byId(column: string): { readonly table: string; readonly condition?: string }
  /** Selects the day of a time in UTC, such as `2026-11-01`. */
  selectDay(column: string): string
  /** The start of the bucket of so many seconds that a time is in; the buckets divide an hour, or are a day in UTC. */
  startOfBucket(column: string, seconds: number): string
  /** Whether a boolean member of the metadata is true; never null. */
  isMemberTrue(path: readonly string[]): string
  /** A member of the metadata as text, word for word the expression of its index where it has one. */
  selectMember(path: readonly string[]): string
  /** The condition that a text contains a part, which has no letter A to Z; letters of the text count as small ones. */
  contains(text: string, part: string): string
}

export interface Statement {
  readonly sql: string
  readonly values: ReadonlyArray<string | number>
}

/** The predicate of the partial index of failed records, word for word. */
const IS_FAILED = '(error_type IS NOT NULL OR status_code >= 400)'
/** Most records are: the plus sign keeps SQLite from collecting them all by their status and sorting them. */
const IS_NOT_FAILED = '(error_type IS NULL AND (+status_code IS NULL OR +status_code < 400))'

const ID_COLUMNS = ['request_id', 'trace_id'] as const satisfies ReadonlyArray<keyof TrafficFilter>
const EQUAL_COLUMNS = [
  'protocol',
  'route',
  'provider',
  'alias',
  'profile_id',
  'request_id',
  'trace_id',
  'api_key_hash',
  'error_type',
  'error_code',
  'status_code'
] as const satisfies ReadonlyArray<keyof TrafficFilter>

/** What a search looks at: short texts, and no captured content. */
const SEARCHED_COLUMNS = [
  'request_id',
  'trace_id',
  'route',
  'provider',
  'model_requested',
  'model_effective',
  'alias',
  'profile_id',
  'error_type',
  'error_code',
  'error_field',
  'error_message'
] as const
const CALLER = ['annotations', 'caller', 'name'] as const
const KEY_NAME = ['api_key_name'] as const
const IS_STREAM = ['is_stream'] as const
const FIRST_CONTENT = ['first_token_ms'] as const
const SEARCHED_MEMBERS = [['path'], CALLER] as const

class StatementWriter {
  readonly #dialect: Dialect
  readonly values: Array<string | number> = []

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  /** Adds a value and returns its placeholder. */
  value(value: string | number): string {
    this.values.push(value)
    return this.#dialect.placeholder(this.values.length)
  }

  /** The table that the conditions are about; ids leave the planner no choice because other indexes look as good to it. */
  source({ filter }: Pick<PageRequest, 'filter'>): { readonly table: string; readonly condition?: string } {
    const column = ID_COLUMNS.find(name => filter[name] !== undefined)
    return column === undefined ? { table: 'gateway_traffic_logs' } : this.#dialect.byId(column)
  }

  conditions({ filter, start }: Pick<PageRequest, 'filter' | 'start'>): string[] {
    const conditions: string[] = []
    const { from, to, method, has_error, min_latency_ms, caller, key, stream } = filter
    if (from !== undefined) conditions.push(`created_at >= ${this.value(from)}`)
    if (to !== undefined) conditions.push(`created_at <= ${this.value(to)}`)
    for (const column of EQUAL_COLUMNS) {
      const wanted = filter[column]
      if (wanted !== undefined) conditions.push(`${column} = ${this.value(wanted)}`)
    }
    if (has_error !== undefined) conditions.push(has_error ? IS_FAILED : IS_NOT_FAILED)
    if (caller !== undefined) conditions.push(this.#isMember(CALLER, caller))
    if (key !== undefined) conditions.push(key === UNKNOWN_KEY ? this.#isOfUnknownKey() : this.#isMember(KEY_NAME, key))
    if (method !== undefined) conditions.push(this.#dialect.isWalked(`method = ${this.value(method)}`))
    if (stream !== undefined) {
      const isStream = this.#dialect.isMemberTrue(IS_STREAM)
      conditions.push(this.#dialect.isWalked(stream ? isStream : `NOT ${isStream}`))
    }
    if (min_latency_ms !== undefined) {
      conditions.push(this.#dialect.isWalked(`latency_ms >= ${this.value(min_latency_ms)}`))
    }
    if (start.kind === 'after') {
      conditions.push(`(created_at, id) < (${this.value(start.created_at)}, ${this.value(start.id)})`)
    }
    return conditions
  }

  #isMember(path: readonly string[], wanted: string): string {
    return `${this.#dialect.selectMember(path)} = ${this.value(wanted)}`
  }

  /** The predicate of the partial index of these records, word for word. */
  #isOfUnknownKey(): string {
    return `(api_key_hash IS NOT NULL AND ${this.#dialect.selectMember(KEY_NAME)} IS NULL)`
  }

  isExpired({ before, failedBefore }: RetentionCutoffs): string {
    const isOld = `created_at < ${this.value(before)}`
    return failedBefore === before
      ? isOld
      : `${isOld} AND (created_at < ${this.value(failedBefore)} OR ${IS_NOT_FAILED})`
  }

  /** The conditions that are left for the rows of `selectWindow`. */
  conditionsInWindow({ q, method, stream, min_latency_ms }: TrafficFilter): string[] {
    const walked = {
      ...(method !== undefined && { method }),
      ...(stream !== undefined && { stream }),
      ...(min_latency_ms !== undefined && { min_latency_ms })
    }
    const conditions = this.conditions({ filter: walked, start: NEWEST })
    if (q === undefined) return conditions
    const part = q.replace(/[A-Z]+/g, letters => letters.toLowerCase())
    return [...conditions, this.#dialect.contains('searched', this.value(part))]
  }

  /** The texts that a search looks at as one; a line feed keeps the end of one and the start of the next from being found together. */
  searchedText(): string {
    const members = SEARCHED_MEMBERS.map(path => this.#dialect.selectMember(path))
    return `concat_ws('\n', ${[...SEARCHED_COLUMNS, ...members].join(', ')}) AS searched`
  }
}

/** The time is part of the join because it says in which partition the row is. */
const JOIN_PAYLOAD =
  'LEFT JOIN gateway_traffic_payloads AS payload ON payload.id = log.id AND payload.created_at = log.created_at'

const ORDER = 'ORDER BY created_at DESC, id DESC'
const where = (conditions: readonly string[]) => (conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`)

/** Selects a page of records, newest first. */
export function selectPage(page: PageRequest, dialect: Dialect): Statement {
  const writer = new StatementWriter(dialect)
  const ids = page.filter.q === undefined ? selectPageIds(page, writer) : selectFoundIds(page, writer)
  // The page is found in the indexes first; only its own rows are read whole.
  const sql = `SELECT ${summaryColumns(dialect).join(', ')} FROM (${ids}) AS page
    JOIN gateway_traffic_logs AS log ON log.id = page.id AND log.created_at = page.created_at
    ORDER BY log.created_at DESC, log.id DESC`
  return { sql, values: writer.values }
}

const KEY_COLUMNS = ['created_at', 'id'] as const

function selectPageIds(page: PageRequest, writer: StatementWriter, columns: readonly string[] = KEY_COLUMNS): string {
  const { model } = page.filter
  const { offset = 0 } = page.start
  return model === undefined
    ? selectRows(page, writer, { columns, tail: `${ORDER} LIMIT ${page.limit} OFFSET ${offset}` })
    : selectRowsOfModel(page, writer, { columns, model, offset })
}

function selectRows(
  page: Pick<PageRequest, 'filter' | 'start'>,
  writer: StatementWriter,
  { columns, more = [], tail }: { columns: readonly string[]; more?: readonly string[]; tail: string }
): string {
  const { table, condition = [] } = writer.source(page)
  const conditions = where([...more, ...writer.conditions(page)].concat(condition))
  return `SELECT ${columns.join(', ')} FROM ${table} ${conditions} ${tail}`
}

/**
 * The two columns of a model have an index each, so each is asked by itself; together they would be a scan. Most records are found by both and
 * stand once in the union; leaving them out of one question would walk through all of them where both names are the same.
 */
function selectRowsOfModel(
  page: PageRequest,
  writer: StatementWriter,
  { columns, model, offset }: { columns: readonly string[]; model: string; offset: number }
): string {
  const tail = `${ORDER} LIMIT ${page.limit + offset}`
  const select = (name: string) =>
    selectRows(page, writer, { columns, more: [`${name} = ${writer.value(model)}`], tail })
  const [requested, effective] = [select('model_requested'), select('model_effective')]
  return `SELECT * FROM (${requested}) AS requested UNION SELECT * FROM (${effective}) AS effective
    ${ORDER} LIMIT ${page.limit} OFFSET ${offset}`
}

/** Selects a page of what a search finds in the window, which is the same for every page. */
function selectFoundIds({ filter, start, limit }: PageRequest, writer: StatementWriter): string {
  const window = selectWindow(filter, writer, WINDOW_RECORDS)
  const conditions = [...writer.conditionsInWindow(filter), ...writer.conditions({ filter: {}, start })]
  return `SELECT created_at, id FROM (${window}) AS examined ${where(conditions)}
    ${ORDER} LIMIT ${limit} OFFSET ${start.offset ?? 0}`
}

/** Counts the records of the window, of which it examines one more than the window has, and those that the whole filter selects. */
export function selectEstimate(filter: TrafficFilter, dialect: Dialect): Statement {
  const writer = new StatementWriter(dialect)
  const size = WINDOW_RECORDS + 1
  const { q, method, stream, min_latency_ms, model, ...indexed } = filter
  const isWhole = [q, method, stream, min_latency_ms, model].every(value => value === undefined)
  // Without further conditions all records count, and an index is sufficient.
  const window = isWhole
    ? selectRows({ filter: indexed, start: NEWEST }, writer, { columns: ['1 AS one'], tail: `LIMIT ${size}` })
    : selectWindow(filter, writer, size)
  const conditions = writer.conditionsInWindow(filter)
  const found = conditions.length === 0 ? 'count(*)' : `count(*) FILTER (${where(conditions)})`
  // The window comes first, as its values do.
  return {
    sql: `WITH examined AS (${window}) SELECT count(*) AS examined, ${found} AS found FROM examined`,
    values: writer.values
  }
}

/** Selects `latency_ms` and `first_content_ms` of the records of the window that the whole filter selects. */
export function selectLatencies(filter: TrafficFilter, dialect: Dialect): Statement {
  const writer = new StatementWriter(dialect)
  const firstContent = `${dialect.selectMember(FIRST_CONTENT)} AS first_content_ms`
  const window = selectWindow(filter, writer, WINDOW_RECORDS, [firstContent])
  return {
    sql: `WITH examined AS (${window}) SELECT latency_ms, first_content_ms FROM examined ${where(writer.conditionsInWindow(filter))}`,
    values: writer.values
  }
}

const NEWEST = { kind: 'offset', offset: 0 } as const

/** The newest records that the conditions with an index select, with what the other conditions ask for: no table is joined with so many. */
function selectWindow(filter: TrafficFilter, writer: StatementWriter, limit: number, more?: readonly string[]): string {
  const { q, method, stream, min_latency_ms, ...indexed } = filter
  const columns = [
    ...KEY_COLUMNS,
    ...(method === undefined ? [] : ['method']),
    ...(stream === undefined ? [] : ['metadata']),
    ...(min_latency_ms === undefined && more === undefined ? [] : ['latency_ms']),
    ...(q === undefined ? [] : [writer.searchedText()]),
    ...(more ?? [])
  ]
  return selectPageIds({ filter: indexed, start: NEWEST, limit }, writer, columns)
}

/** Selects one record by its id. */
export function selectRecord(id: string, dialect: Dialect): Statement {
  const writer = new StatementWriter(dialect)
  const sql = `SELECT ${summaryColumns(dialect).join(', ')} FROM gateway_traffic_logs AS log WHERE log.id = ${writer.value(id)}`
  return { sql, values: writer.values }
}

/** Selects the content of one record; a record without content gives a row of nulls. */
export function selectPayload(id: string, dialect: Dialect): Statement {
  const writer = new StatementWriter(dialect)
  const sql = `SELECT ${payloadColumns(dialect).join(', ')} FROM gateway_traffic_logs AS log
    ${JOIN_PAYLOAD} WHERE log.id = ${writer.value(id)}`
  return { sql, values: writer.values }
}

/** Counts the records before a time. */
export function countExpired(cutoffs: RetentionCutoffs, dialect: Dialect): Statement {
  const writer = new StatementWriter(dialect)
  return {
    sql: `SELECT count(*) AS count FROM gateway_traffic_logs WHERE ${writer.isExpired(cutoffs)}`,
    values: writer.values
  }
}

/** Selects `id` and `created_at` of the records that one batch of a purge deletes. */
export function selectExpired({ from, batchSize, ...cutoffs }: PurgeRequest, dialect: Dialect): Statement {
  const writer = new StatementWriter(dialect)
  const conditions = [writer.isExpired(cutoffs)]
  if (from !== undefined) conditions.push(`created_at >= ${writer.value(from)}`)
  return {
    sql: `SELECT id, created_at FROM gateway_traffic_logs WHERE ${conditions.join(' AND ')}
      ORDER BY created_at, id LIMIT ${writer.value(batchSize)}`,
    values: writer.values
  }
}

/** Costs of many months may exceed 64 bits; SQLite would end the question then. */
const selectSum = (name: string) => `sum(${name === 'cost_nanos' ? 'cost_nanos * 1.0' : name}) AS ${name}`

/** How many currencies the costs have, and which it is where there is one. */
const CURRENCIES = ["count(DISTINCT nullif(currency, '')) AS currencies", 'max(currency) AS cost_currency']

/** Adds the kept sums up; the percentiles are made of the latency classes. */
export function selectSums(request: SumsRequest, dialect: Dialect): Statement {
  const { from, to, by, key, limit, bucketSeconds = HOUR_SECONDS } = request
  const writer = new StatementWriter(dialect)
  const { name: table, time } = bucketSeconds < HOUR_SECONDS ? MINUTE_SUMS : HOUR_SUMS
  const timeOf = (seconds: number) => dialect.selectTime(dialect.startOfBucket(time, seconds))
  const selected: { readonly [Name in SumKeyName]?: string } = {
    time: `${timeOf(bucketSeconds)} AS "time"`,
    hour: `${timeOf(HOUR_SECONDS)} AS "hour"`,
    day: `${dialect.selectDay(time)} AS "day"`
  }
  const columns = [...by.map(name => selected[name] ?? name), ...SUM_COLUMNS.map(selectSum), ...CURRENCIES]
  // By number: a name would be that of the column, where the table has one.
  const numbers = by.map((_, index) => index + 1).join(', ')
  const group = by.length === 0 ? '' : `GROUP BY ${numbers} ORDER BY ${numbers}`
  const conditions = [`${time} >= ${writer.value(from)}`, `${time} <= ${writer.value(to)}`]
  if (key !== undefined) conditions.push(`api_key_name = ${writer.value(key)}`)
  const sql = `SELECT ${columns.join(', ')} FROM ${table}
    ${where(conditions)} ${group} LIMIT ${writer.value(limit)}`
  return { sql, values: writer.values }
}

const HOUR_SECONDS = 3600

function summaryColumns(dialect: Dialect): string[] {
  return [...MEMBER_COLUMNS, ...FLAG_COLUMNS].map(column => {
    if (column === 'created_at') return `${dialect.selectTime('log.created_at')} AS created_at`
    if (column === 'metadata') return `${dialect.selectJson('log.metadata')} AS metadata`
    return `log.${column}`
  })
}

function payloadColumns(dialect: Dialect): string[] {
  return ['request_headers', 'request_body', 'response_body'].map(
    column => `${dialect.selectJson(`payload.${column}`)} AS ${column}`
  )
}
