// The SELECT statements of both relational stores. A dialect has only what differs between them, so that the same question gets the same
// answer from either (operations contract, section 9.1).
import type { PageRequest, SumsRequest, TrafficFilter } from '../../../shared/traffic/query.ts'
import { FLAG_COLUMNS, MEMBER_COLUMNS, SUM_COLUMNS } from './columns.ts'

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
  /** The condition that a record has this caller, of which `value` makes the placeholder. */
  isCaller(name: string, value: (value: string) => string): string
}

export interface Statement {
  readonly sql: string
  readonly values: ReadonlyArray<string | number>
}

/** The predicate of the partial index of failed records, word for word. */
export const IS_FAILED = '(error_type IS NOT NULL OR status_code >= 400)'
/** Most records are: the plus sign keeps SQLite from collecting them all by their status and sorting them. */
const IS_NOT_FAILED = '(error_type IS NULL AND (+status_code IS NULL OR +status_code < 400))'

const ID_COLUMNS = ['request_id', 'trace_id'] as const satisfies ReadonlyArray<keyof TrafficFilter>
const EQUAL_COLUMNS = [
  'protocol',
  'route',
  'provider',
  'request_id',
  'trace_id',
  'api_key_hash',
  'error_type',
  'status_code'
] as const satisfies ReadonlyArray<keyof TrafficFilter>

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
  source({ filter }: PageRequest): { readonly table: string; readonly condition?: string } {
    const column = ID_COLUMNS.find(name => filter[name] !== undefined)
    return column === undefined ? { table: 'gateway_traffic_logs' } : this.#dialect.byId(column)
  }

  conditions({ filter, start }: PageRequest): string[] {
    const conditions: string[] = []
    const { from, to, method, has_error, min_latency_ms, caller } = filter
    if (from !== undefined) conditions.push(`created_at >= ${this.value(from)}`)
    if (to !== undefined) conditions.push(`created_at <= ${this.value(to)}`)
    for (const column of EQUAL_COLUMNS) {
      const wanted = filter[column]
      if (wanted !== undefined) conditions.push(`${column} = ${this.value(wanted)}`)
    }
    if (has_error !== undefined) conditions.push(has_error ? IS_FAILED : IS_NOT_FAILED)
    if (caller !== undefined) conditions.push(this.#dialect.isCaller(caller, text => this.value(text)))
    if (method !== undefined) conditions.push(this.#dialect.isWalked(`method = ${this.value(method)}`))
    if (min_latency_ms !== undefined) {
      conditions.push(this.#dialect.isWalked(`latency_ms >= ${this.value(min_latency_ms)}`))
    }
    if (start.kind === 'after') {
      conditions.push(`(created_at, id) < (${this.value(start.created_at)}, ${this.value(start.id)})`)
    }
    return conditions
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
  const { model } = page.filter
  const { offset = 0 } = page.start
  const ids =
    model === undefined
      ? selectIds(page, writer, [], `LIMIT ${page.limit} OFFSET ${offset}`)
      : selectIdsOfModel(page, writer, model, offset)
  // The page is found in the indexes first; only its own rows are read whole.
  const sql = `SELECT ${summaryColumns(dialect).join(', ')} FROM (${ids}) AS page
    JOIN gateway_traffic_logs AS log ON log.id = page.id AND log.created_at = page.created_at
    ORDER BY log.created_at DESC, log.id DESC`
  return { sql, values: writer.values }
}

function selectIds(page: PageRequest, writer: StatementWriter, more: readonly string[], limit: string): string {
  const { table, condition = [] } = writer.source(page)
  return `SELECT created_at, id FROM ${table} ${where([...more, ...writer.conditions(page)].concat(condition))} ${ORDER} ${limit}`
}

/**
 * The two columns of a model have an index each, so each is asked by itself; together they would be a scan. Most records are found by both and
 * stand once in the union; leaving them out of one question would walk through all of them where both names are the same.
 */
function selectIdsOfModel(page: PageRequest, writer: StatementWriter, model: string, offset: number): string {
  const limit = `LIMIT ${page.limit + offset}`
  const requested = selectIds(page, writer, [`model_requested = ${writer.value(model)}`], limit)
  const effective = selectIds(page, writer, [`model_effective = ${writer.value(model)}`], limit)
  return `SELECT * FROM (${requested}) AS requested UNION SELECT * FROM (${effective}) AS effective
    ${ORDER} LIMIT ${page.limit} OFFSET ${offset}`
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
export function countBefore(time: string, dialect: Dialect): Statement {
  const writer = new StatementWriter(dialect)
  return {
    sql: `SELECT count(*) AS count FROM gateway_traffic_logs WHERE created_at < ${writer.value(time)}`,
    values: writer.values
  }
}

/** Adds the kept sums up; the percentiles are made of the latency classes. */
export function selectSums({ from, to, by, limit }: SumsRequest, dialect: Dialect): Statement {
  const writer = new StatementWriter(dialect)
  const keys = by.map(name => (name === 'hour' ? `${dialect.selectTime('hour')} AS hour` : name))
  const columns = [...keys, ...SUM_COLUMNS.map(name => `sum(${name}) AS ${name}`)]
  const group = by.length === 0 ? '' : `GROUP BY ${by.join(', ')} ORDER BY ${by.join(', ')}`
  const sql = `SELECT ${columns.join(', ')} FROM gateway_traffic_sums
    WHERE hour >= ${writer.value(from)} AND hour <= ${writer.value(to)} ${group} LIMIT ${writer.value(limit)}`
  return { sql, values: writer.values }
}

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
