// What the checks of a start know besides the settings, and what they have found so far.
import type { Settings, Variables } from '../../shared/settings.ts'
import type { StartupErrorDetail, StartupReasonId } from '../../shared/startup-error.ts'

export interface StartupContext {
  /** What was given explicitly. */
  readonly variables: Variables
  /** The embedded upstream was requested. */
  readonly isDemo: boolean
  /** No profile file was chosen, so the settings describe the upstream. */
  readonly isNativeMode: boolean
}

export class Findings {
  /** What stops the start. */
  readonly refusals: StartupErrorDetail[] = []
  readonly warnings: string[] = []

  /** `what` continues the name of the setting: "must be 32 bytes in base64". */
  refuse(setting: string, what: string): void {
    this.refuseAs('invalid_settings', setting, `${setting} ${what}`)
  }

  /** A refusal that programs tell from others by its reason. */
  refuseAs(reasonId: StartupReasonId, setting: string, explanation: string): void {
    this.refusals.push({ reasonId, setting, explanation })
  }

  /** Refuses in PROD, or only warns where the operator allows insecure production. */
  refuseInProduction({ allowInsecureProd }: Pick<Settings, 'allowInsecureProd'>, setting: string, what: string): void {
    if (allowInsecureProd) this.warn(`${setting} ${what}.`)
    else this.refuseAs('insecure_prod_refused', setting, `${setting} ${what}`)
  }

  /** A sentence for the operator; the same one is kept once. */
  warn(sentence: string): void {
    if (!this.warnings.includes(sentence)) this.warnings.push(sentence)
  }
}
