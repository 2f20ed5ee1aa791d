// Refuses unsafe combinations of settings and collects warnings, before anything is opened (operations.md 5). A further check is a function
// in the file of its subject and a line in the list below.
import type { Settings } from '../../shared/settings.ts'
import { checkAccess, checkAdminKey, checkKeySpaces } from './access.ts'
import { checkDemo } from './demo.ts'
import { Findings, type StartupContext } from './findings.ts'
import { checkMemory } from './memory.ts'
import { checkMetricsPath, checkMetricsPort } from './metrics.ts'
import { checkProduction } from './production.ts'
import { checkLogFile, checkSharedLimits, checkSinks, checkStore } from './storage.ts'
import { checkKeyFile, checkUpstream } from './upstream.ts'

/** Looks at parsed settings and adds what it finds. */
export type StartupCheck = (settings: Settings, findings: Findings, context: StartupContext) => void

/** In the order in which the operator reads what they find. */
const checks: readonly StartupCheck[] = [
  checkAccess,
  checkKeySpaces,
  checkMetricsPort,
  checkMetricsPath,
  checkLogFile,
  checkSinks,
  checkStore,
  checkSharedLimits,
  checkMemory,
  checkUpstream,
  checkKeyFile,
  checkDemo,
  checkProduction,
  checkAdminKey
]

/** Checks parsed settings, before a profile file is read. */
export function checkStartup(settings: Settings, context: StartupContext): Findings {
  const findings = new Findings()
  for (const check of checks) check(settings, findings, context)
  return findings
}
