// Which content spans may hold: each kind needs a switch of its own and the main switch
// (operations.md 11.1).
import { createRedactor, type Redactor } from '../../../shared/secrets/redaction.ts'
import type { Settings } from '../../../shared/settings.ts'
import type { DescriptionOptions } from '../observer.ts'

export interface CaptureSwitches {
  readonly content: boolean
  readonly messages: boolean
  readonly toolArguments: boolean
  readonly responses: boolean
  /** Of one attribute. */
  readonly charactersMax: number
  /** Undefined where redaction is switched off. */
  readonly redactor: Redactor | undefined
}

type CaptureSettings = Pick<
  Settings,
  | 'observabilityCaptureContent'
  | 'observabilityCaptureMessages'
  | 'observabilityCaptureToolArgs'
  | 'observabilityCaptureResponses'
  | 'observabilityMaxContentLength'
  | 'observabilityRedactionEnabled'
  | 'trafficLogRedactExtraKeys'
>

/** Reads the switches. `knownSecrets` are masked wherever they occur: the configured keys and the credentials of the profiles. */
export function readCaptureSwitches(settings: CaptureSettings, knownSecrets: readonly string[]): CaptureSwitches {
  const content = settings.observabilityCaptureContent
  return {
    content,
    messages: content && settings.observabilityCaptureMessages,
    toolArguments: content && settings.observabilityCaptureToolArgs,
    responses: content && settings.observabilityCaptureResponses,
    charactersMax: settings.observabilityMaxContentLength,
    redactor: settings.observabilityRedactionEnabled
      ? createRedactor({ extraKeys: settings.trafficLogRedactExtraKeys, knownSecrets })
      : undefined
  }
}

/** What tracing asks of the description of a call. */
export function toDescriptionOptions(capture: CaptureSwitches): DescriptionOptions {
  return {
    messages: capture.messages,
    tools: capture.toolArguments,
    extensions: capture.content,
    charactersMax: capture.charactersMax
  }
}
