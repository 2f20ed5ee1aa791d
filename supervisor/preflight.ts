// The preflight: checks a configuration exactly as a start would and writes the result as one
// document. It opens no socket, no database and no log file (bridge.md 1.3).
import { createStartupErrorDocument } from '../shared/documents/documents.ts'
import { createInspectDocument } from '../shared/documents/inspect-document.ts'
import { StartupError } from '../shared/startup-error.ts'
import type { ExitCode } from './lifecycle/exit-codes.ts'
import { exitCodeBeforeStart } from './lifecycle/lifecycle.ts'
import { type PlanSources, planRuntime, readVariables } from './plan/runtime-plan.ts'

export interface PreflightResult {
  readonly exitCode: ExitCode
  /** One line of JSON with its newline, for stdout. */
  readonly output: string
  /** Sentences for stderr. */
  readonly warnings: readonly string[]
}

export function inspectConfiguration(sources: PlanSources): PreflightResult {
  const given = readVariables(sources)
  try {
    const plan = planRuntime(sources, given)
    const document = createInspectDocument(plan.profiles, { matrix: plan.revisions.matrix, keys: plan.keys?.revision })
    return {
      exitCode: exitCodeBeforeStart({ kind: 'preflight-passed' }),
      output: `${JSON.stringify(document)}\n`,
      warnings: plan.warnings
    }
  } catch (error) {
    if (!StartupError.is(error)) throw error
    const output = `${JSON.stringify(createStartupErrorDocument(error))}\n`
    // For a person: the document has ids only, and no place for the lines of a file.
    const words = error.details.map(detail => `${detail.explanation}.`)
    const place = error.location === undefined ? [] : [`The problem is in the ${error.file} file: ${error.location}`]
    return {
      exitCode: exitCodeBeforeStart({ kind: 'preflight-failed' }),
      output,
      warnings: [...given.warnings, ...(words.length === 0 ? [error.message] : words), ...place]
    }
  }
}
