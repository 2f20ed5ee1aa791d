// What can be set about an emulator, at its start or while it runs (`POST /__control/settings`).
import { isObject } from './json.ts'

export interface EmulatorSettings {
  /** Lifetime of a new token; `tokenLifetimeMs` of the real server is about 30 minutes. */
  tokenLifetimeMs: number
  /** Whether `POST <base>/token` gives `exp` in seconds (as recorded) or in milliseconds. */
  expInSeconds: boolean
  /** Whether the OAuth answer is `{access_token, expires_at}` or the alternative `{tok, exp}`. */
  oauthForm: 'standard' | 'alternative'
  /** Whether API calls need a token (or a verified client certificate). */
  requireAuthorization: boolean
  /** Whether a returning state id must be one that this emulator gave out (otherwise it is only noted in the record). */
  strictStateIds: boolean
  /** Whether a file id in a message must be a known file of the same account. */
  strictFiles: boolean
  /** Gap between the frames of a stream when no directive says otherwise. */
  tickMs: number
  /** The key that `/openai/v1` demands; `null` accepts any or none. */
  chatApiKey: string | null
}

export const defaultSettings: Readonly<EmulatorSettings> = Object.freeze({
  tokenLifetimeMs: 30 * 60 * 1000,
  expInSeconds: true,
  oauthForm: 'standard',
  requireAuthorization: true,
  strictStateIds: false,
  strictFiles: false,
  tickMs: 0,
  chatApiKey: null
})

/**
 * Checks a partial set of settings that came over the control endpoint.
 * @throws Error naming the first member that is unknown or has a wrong type.
 */
export function readSettings(value: unknown): Partial<EmulatorSettings> {
  if (!isObject(value)) throw new Error('settings must be an object')
  const settings: Partial<EmulatorSettings> = {}
  for (const [name, setting] of Object.entries(value)) {
    switch (name) {
      case 'tokenLifetimeMs':
      case 'tickMs':
        if (typeof setting !== 'number' || setting < 0) throw new Error(`${name} must be a number of milliseconds`)
        settings[name] = setting
        break
      case 'expInSeconds':
      case 'requireAuthorization':
      case 'strictStateIds':
      case 'strictFiles':
        if (typeof setting !== 'boolean') throw new Error(`${name} must be a boolean`)
        settings[name] = setting
        break
      case 'oauthForm':
        if (setting !== 'standard' && setting !== 'alternative')
          throw new Error('oauthForm must be standard or alternative')
        settings.oauthForm = setting
        break
      case 'chatApiKey':
        if (setting !== null && typeof setting !== 'string') throw new Error('chatApiKey must be a string or null')
        settings.chatApiKey = setting
        break
      default:
        throw new Error(`unknown setting ${name}`)
    }
  }
  return settings
}
