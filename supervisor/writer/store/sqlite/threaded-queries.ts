// The questions to a SQLite file, asked in a thread of their own.
import { extname, join } from 'node:path'
import { Piscina } from 'piscina'
import type { TrafficQueries } from '../../../../shared/traffic/query.ts'
import type { ClosableQueries } from './sink.ts'

/** One call of `TrafficQueries`, as it goes to the thread. */
export interface QueryTask {
  readonly name: keyof TrafficQueries
  readonly argument: unknown
}

/** Questions that may wait; the server bounds those of each worker. */
const WAITING_MAX = 256
/** A query that takes longer is ended with its thread. */
const QUERY_MS_MAX = 30_000
const THREAD_IDLE_MS = 60_000

/** Questions to the file of this path, which exists. The thread starts with the first one. */
export function createThreadedQueries(path: string): ClosableQueries {
  const pool = new Piscina({
    filename: join(import.meta.dirname, `query-thread${extname(import.meta.filename)}`),
    workerData: { path },
    minThreads: 0,
    maxThreads: 1,
    maxQueue: WAITING_MAX,
    idleTimeout: THREAD_IDLE_MS
  })
  function ask<Name extends keyof TrafficQueries>(name: Name) {
    return (argument: Parameters<TrafficQueries[Name]>[0]): ReturnType<TrafficQueries[Name]> => {
      const task: QueryTask = { name, argument }
      return pool.run(task, { signal: AbortSignal.timeout(QUERY_MS_MAX) }) as ReturnType<TrafficQueries[Name]>
    }
  }
  return {
    list: ask('list'),
    estimate: ask('estimate'),
    latencies: ask('latencies'),
    find: ask('find'),
    findPayload: ask('findPayload'),
    countExpired: ask('countExpired'),
    sums: ask('sums'),
    readStatus: ask('readStatus'),
    close: () => pool.destroy()
  }
}
