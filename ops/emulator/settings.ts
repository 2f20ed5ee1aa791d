// The settings of an emulator, given at its start or changed while it runs (`POST /__control/settings`).
import { isObject } from './json.ts'

export interface EmulatorSettings {
  /** Lifetime of a new token; the real server's tokens live about 30 minutes. */
  tokenLifetimeMs: number
  /** Whether `POST <base>/token` returns `exp` in seconds (as recorded) or in milliseconds. */
  expInSeconds: boolean
  /** Whether the OAuth response is `{access_token, expires_at}` or the alternative `{tok, exp}`. */
  oauthForm: 'standard' | 'alternative'
  /** Whether API calls need a token (or a verified client certificate). */
  requireAuthorization: boolean
  /** Whether a state id in a request must be one that this emulator issued; when false, an unknown id only adds a note. */
  strictStateIds: boolean
  /** Whether a file id in a message must be a stored file of the same account. */
  strictFiles: boolean
  /** Gap between the frames of a stream when the prompt has no `[[tick:MS]]` directive. */
  tickMs: number
  /** The API key that the wires of external providers require, such as `/openai/v1`; `null` accepts every key and none. */
  chatApiKey: string | null
  /**
   * The API keys of providers with names, such as `/openai/<name>/v1`, which has the wire under a further base URL, as if another provider
   * had it; `null`: a provider that refuses every request with a key. A name that is not listed accepts every key and none.
   */
  chatApiKeys: Record<string, string | null>
}

export const defaultSettings: Readonly<EmulatorSettings> = Object.freeze({
  tokenLifetimeMs: 30 * 60 * 1000,
  expInSeconds: true,
  oauthForm: 'standard',
  requireAuthorization: true,
  strictStateIds: false,
  strictFiles: false,
  tickMs: 0,
  chatApiKey: null,
  chatApiKeys: {}
})

/**
 * Reads the settings in the body of a control call.
 * @throws Error that names the first member that is unknown or has a wrong type.
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
      case 'chatApiKeys':
        settings.chatApiKeys = readKeys(setting)
        break
      default:
        throw new Error(`unknown setting ${name}`)
    }
  }
  return settings
}

function readKeys(value: unknown): Record<string, string | null> {
  if (!isObject(value)) throw new Error('chatApiKeys must be an object')
  const keys: Record<string, string | null> = {}
  for (const [name, key] of Object.entries(value)) {
    if (key !== null && typeof key !== 'string') throw new Error(`chatApiKeys.${name} must be a string or null`)
    keys[name] = key
  }
  return keys
}
