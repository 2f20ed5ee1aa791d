// What a start with the embedded upstream does not allow.
import type { Settings } from '../../shared/settings.ts'
import type { Findings, StartupContext } from './findings.ts'

export function checkDemo({ mode, upstream }: Settings, findings: Findings, { isDemo }: StartupContext): void {
  if (!isDemo) return
  const refuse = (setting: string, when: string) =>
    findings.refuseAs('demo_refused', setting, `--demo does not start when ${setting} is ${when}`)
  if (mode === 'PROD') refuse('GATEWAY_MODE', 'PROD')
  const credentials = [
    ['UPSTREAM_CREDENTIALS', upstream.credentials],
    ['UPSTREAM_ACCESS_TOKEN', upstream.accessToken],
    ['UPSTREAM_USER', upstream.user],
    ['UPSTREAM_PASSWORD', upstream.password]
  ] as const
  for (const [setting, value] of credentials) if (value !== undefined) refuse(setting, 'set')
}
