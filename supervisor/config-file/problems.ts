// The problems of a configuration file in a refusal of the start.
import { StartupError, type StartupErrorCode } from '../../shared/startup-error.ts'
import { type IssuePath, writeIssuePath } from './issue-path.ts'

/** A member that breaks the schema or a rule, and what is expected of it. */
export interface FileProblem {
  readonly path: IssuePath
  /** Empty where the place says it all. */
  readonly explanation: string
}

/** More problems than a person reads at once, and a line of the log holds. */
const PROBLEMS_MAX = 20

/** Names the places of the problems, up to a bound. */
export function refuseProblems(
  { code, message }: { readonly code: StartupErrorCode; readonly message: string },
  problems: readonly FileProblem[]
): StartupError {
  const places = problems.slice(0, PROBLEMS_MAX).map(({ path, explanation }) => {
    const place = writeIssuePath(path)
    return explanation === '' ? place : `${place}: ${explanation}`
  })
  const more = problems.length - places.length
  const all = more > 0 ? [...places, `and ${more} more`] : places
  return new StartupError(code, message, [], all.join('; '))
}
