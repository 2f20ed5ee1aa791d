// The spend of budgets in the SQLite store. Its methods run inside a transaction of the caller.
import {
  FORGETTING_INTERVAL,
  REMEMBERED_EXCHANGES,
  readSpendExpiry,
  SPEND_BATCH,
  SPENT_NANOS_MAX,
  type SpendExchange,
  sumSpends
} from '../spend.ts'
import type { SqliteContext } from './context.ts'

export interface SpendSums {
  /** The sums in the order of the exchange, after what it adds. */
  add(exchange: SpendExchange): number[]
  /** Removes one batch of what is too old; true: more may be left. */
  purge(): boolean
}

export function createSpend({ database, nowMs }: SqliteContext): SpendSums {
  const insertExchange = database.prepare<[string, string, number]>(
    'INSERT INTO spend_exchanges (gateway, exchange, added_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
  )
  const forget = database.prepare<[string, string, number]>(
    `DELETE FROM spend_exchanges WHERE gateway = ? AND number <
     (SELECT number FROM spend_exchanges WHERE gateway = ? ORDER BY number DESC LIMIT 1 OFFSET ?)`
  )
  const upsert = database.prepare<[string, string, number]>(
    `INSERT INTO spend (counter, period, nanos) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET nanos = min(${SPENT_NANOS_MAX}, spend.nanos + excluded.nanos)`
  )
  const select = database
    .prepare<[string, string], number>('SELECT nanos FROM spend WHERE counter = ? AND period = ?')
    .pluck()
  const deletePeriods = database.prepare<[string]>(
    `DELETE FROM spend WHERE (counter, period) IN
     (SELECT counter, period FROM spend WHERE period <> 'total' AND period < ? LIMIT ${SPEND_BATCH})`
  )
  const deleteExchanges = database.prepare<[number]>(
    `DELETE FROM spend_exchanges WHERE number IN
     (SELECT number FROM spend_exchanges WHERE added_ms < ? LIMIT ${SPEND_BATCH})`
  )
  let added = 0

  return {
    add({ gatewayId, exchangeId, spends }) {
      const { sums, addsAny } = sumSpends(spends)
      const isNew = addsAny && insertExchange.run(gatewayId, exchangeId, Math.floor(nowMs())).changes > 0
      if (isNew) {
        for (const { counter, period, addNanos } of sums) if (addNanos > 0) upsert.run(counter, period, addNanos)
        added += 1
        if (added % FORGETTING_INTERVAL === 0) forget.run(gatewayId, gatewayId, REMEMBERED_EXCHANGES)
      }
      return spends.map(({ counter, period }) => select.get(counter, period) ?? 0)
    },
    purge() {
      const { firstDay, exchangeMs } = readSpendExpiry(nowMs())
      const removed = [deletePeriods.run(firstDay), deleteExchanges.run(exchangeMs)]
      return removed.some(({ changes }) => changes === SPEND_BATCH)
    }
  }
}
