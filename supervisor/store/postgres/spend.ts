// The spend of budgets in the Postgres store.
import {
  FORGETTING_INTERVAL,
  nameSpend,
  REMEMBERED_EXCHANGES,
  readSpendExpiry,
  SPEND_BATCH,
  SPENT_NANOS_MAX,
  type Spend,
  type SpendExchange,
  sumSpends
} from '../spend.ts'
import { isId, type PostgresContext } from './context.ts'
import type { Run } from './database.ts'

const INSERT_EXCHANGE = `INSERT INTO gateway_spend_exchanges (gateway, exchange, added_ms) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING RETURNING number`
const FORGET = `DELETE FROM gateway_spend_exchanges WHERE gateway = $1 AND number <
  (SELECT number FROM gateway_spend_exchanges WHERE gateway = $1 ORDER BY number DESC LIMIT 1 OFFSET $2)`
const UPSERT = `INSERT INTO gateway_spend AS s (counter, period, nanos)
  SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
  ON CONFLICT (counter, period) DO UPDATE SET nanos = least(${SPENT_NANOS_MAX}, s.nanos + excluded.nanos)`
const SELECT = `SELECT s.counter, s.period, s.nanos FROM gateway_spend s
  JOIN unnest($1::text[], $2::text[]) AS asked (counter, period) USING (counter, period)`

export function createSpend({ database, nowMs }: PostgresContext) {
  let added = 0

  async function readSums(run: Run, sums: readonly Spend[]): Promise<Map<string, number>> {
    const rows = await run<{ counter: string; period: string; nanos: number }>(SELECT, [
      sums.map(({ counter }) => counter),
      sums.map(({ period }) => period)
    ])
    return new Map(rows.map(row => [nameSpend(row), row.nanos]))
  }

  return {
    /** The sums in the order of the exchange, after what it adds. */
    async addSpend({ gatewayId, exchangeId, spends }: SpendExchange): Promise<number[]> {
      const { sums, addsAny } = sumSpends(spends)
      if (!sums.every(({ counter, period }) => isId(counter) && isId(period))) {
        throw new Error('the name of a counter cannot be stored')
      }
      const readThem = (run: Run) => readSums(run, sums)
      const found = addsAny
        ? await database.write(async run => {
            const [isNew] = await run(INSERT_EXCHANGE, [gatewayId, exchangeId, Math.floor(nowMs())])
            if (isNew === undefined) return readThem(run)
            const additions = sums.filter(({ addNanos }) => addNanos > 0)
            const [, read] = await Promise.all([
              run(UPSERT, [
                additions.map(({ counter }) => counter),
                additions.map(({ period }) => period),
                additions.map(({ addNanos }) => addNanos)
              ]),
              readThem(run)
            ])
            added += 1
            if (added % FORGETTING_INTERVAL === 0) await run(FORGET, [gatewayId, REMEMBERED_EXCHANGES])
            return read
          })
        : await database.read(readThem)
      return spends.map(spend => found.get(nameSpend(spend)) ?? 0)
    },

    /** Removes one batch of what is too old; true: more may be left. */
    purgeSpend(): Promise<boolean> {
      const { firstDay, exchangeMs } = readSpendExpiry(nowMs())
      return database.write(async run => {
        const removed = await Promise.all([
          run(
            `DELETE FROM gateway_spend WHERE (counter, period) IN
             (SELECT counter, period FROM gateway_spend WHERE period <> 'total' AND period < $1 LIMIT ${SPEND_BATCH})
             RETURNING 1`,
            [firstDay]
          ),
          run(
            `DELETE FROM gateway_spend_exchanges WHERE number IN
             (SELECT number FROM gateway_spend_exchanges WHERE added_ms < $1 LIMIT ${SPEND_BATCH}) RETURNING 1`,
            [exchangeMs]
          )
        ])
        return removed.some(({ length }) => length === SPEND_BATCH)
      })
    }
  }
}
