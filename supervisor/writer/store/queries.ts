// Answers the questions that both relational stores answer with the same statements.
import type { TrafficQueries } from '../../../shared/traffic/query.ts'
import { type Row, readEstimate, readLatencies, readPayload, readSummary, readSums } from './rows.ts'
import {
  countExpired,
  type Dialect,
  type Statement,
  selectEstimate,
  selectLatencies,
  selectPage,
  selectPayload,
  selectRecord,
  selectSums
} from './statements.ts'

/** The questions of a store whose statements are written in this dialect and run by `all`. */
export function createStatementQueries(
  all: (statement: Statement) => Promise<Row[]>,
  dialect: Dialect
): Omit<TrafficQueries, 'readStatus'> {
  const first = async (statement: Statement) => (await all(statement))[0]

  return {
    list: async page => (await all(selectPage(page, dialect))).map(readSummary),
    estimate: async filter => readEstimate(await first(selectEstimate(filter, dialect))),
    latencies: async filter => readLatencies(await all(selectLatencies(filter, dialect))),
    async find(id) {
      const row = await first(selectRecord(id, dialect))
      return row === undefined ? undefined : readSummary(row)
    },
    async findPayload(id) {
      const row = await first(selectPayload(id, dialect))
      return row === undefined ? undefined : readPayload(row)
    },
    countExpired: async cutoffs => Number((await first(countExpired(cutoffs, dialect)))?.count),
    sums: async request => (await all(selectSums(request, dialect))).map(readSums)
  }
}
