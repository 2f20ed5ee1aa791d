// Entry of the thread that reads the SQLite file: a long query keeps neither the writing nor the acknowledgements waiting.
import { workerData } from 'piscina'
import { openSqliteQueries } from './queries.ts'
import type { QueryTask } from './threaded-queries.ts'

const queries = openSqliteQueries((workerData as { path: string }).path)

export default function run({ name, argument }: QueryTask): Promise<unknown> {
  if (!Object.hasOwn(queries, name)) throw new Error('The thread has no such query.')
  // The two were paired by the type of the call.
  return (queries[name] as (value: unknown) => Promise<unknown>)(argument)
}
