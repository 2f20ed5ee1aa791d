// The routes of the admin API (operations.md 9; keys.md 5), which are mounted only where a setting switches it on.
import type { RouteDocument } from '../../operation.ts'
import { changeOperations } from './changes.ts'
import { figureOperations } from './figures.ts'
import { keyOperations } from './keys.ts'
import { recordOperations } from './records.ts'

export const adminOperations: readonly RouteDocument[] = [
  ...recordOperations,
  ...figureOperations,
  ...changeOperations,
  ...keyOperations
]
