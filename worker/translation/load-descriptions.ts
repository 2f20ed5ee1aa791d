// What describes calls for observers, loaded with the first call that is described.
import { importOnce } from '../performance/import-once.ts'

export const loadDescriptions = importOnce(() => import('./describe-call.ts'))
