// What the routes of a worker work with: everything that is made once when the worker starts, under one name each.

import type { CatalogReader } from '../execution/catalog.ts'
import type { ExecutionRuntime } from '../execution/execution-runtime.ts'
import type { Translator } from '../translation/translator.ts'

export interface WorkerRuntime extends ExecutionRuntime {
  readonly revisions: { readonly config: string; readonly matrix: string }
  readonly workerId: number
  readonly version: string
  readonly catalog: CatalogReader
  readonly translator: Translator
}
