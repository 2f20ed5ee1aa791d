// Starts a gateway with a profile file in its own folder, and writes the profiles of such files.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Emulator } from '../../ops/emulator/server.ts'
import { FEATURE_NAMES } from '../../shared/profile/profile.ts'
import { type GatewayOptions, type ServingGateway, startGateway } from './in-process-gateway.ts'
import { createTemporaryFolder } from './temporary.ts'

export interface AliasOptions {
  alias: string
  /** The model that the provider knows; absent: `emulator-large`. */
  model?: string
  features?: readonly string[]
  limits?: { context_window?: number; max_input_tokens?: number; max_output_tokens?: number }
  /** Further members of the entry, such as `enabled` and `support_status`. */
  more?: object
}

export interface ChatProfileOptions {
  id: string
  kind?: 'chat_compatible' | 'content_compatible' | 'messages_compatible'
  /** An http URL on this machine. */
  baseUrl: string
  /** The variable with the provider's key; absent: keyless. */
  credentialEnv?: string
  aliases: readonly AliasOptions[]
  /** Further members of the profile, such as `token_counting`. */
  more?: object
}

/** A profile of an external kind on this machine, `chat_compatible` unless `kind` says otherwise, for a file of version 3. */
export function writeChatProfile({ id, kind, baseUrl, credentialEnv, aliases, more }: ChatProfileOptions): object {
  return {
    profile_id: id,
    provider_kind: kind ?? 'chat_compatible',
    base_url: baseUrl,
    ...(credentialEnv === undefined ? {} : { credential_env: credentialEnv }),
    allow_loopback: true,
    network_policy_ref: 'loopback-development',
    tls_policy_ref: 'system-default',
    models: aliases.map(({ alias, model = 'emulator-large', features = FEATURE_NAMES, limits, more: members }) => ({
      public_alias: alias,
      upstream_model: model,
      capability_profile: 'test-v1',
      support_status: 'technical_preview',
      capabilities: { features, limits: { context_window: 128_000, ...limits } },
      ...members
    })),
    ...more
  }
}

export interface NativeProfileOptions {
  id: string
  emulator: Emulator
  credentialEnv: string
  aliases?: readonly Pick<AliasOptions, 'alias' | 'model' | 'more'>[]
  /** Whether the catalog of the upstream belongs to the profile as well. */
  isDynamic?: boolean
}

/** A profile of the kind `native` whose upstream is an emulator. */
export function writeNativeProfile(options: NativeProfileOptions): object {
  const { id, emulator, credentialEnv, aliases = [], isDynamic = false } = options
  return {
    profile_id: id,
    provider_kind: 'native',
    base_url: emulator.baseUrl,
    credential_env: credentialEnv,
    allow_loopback: true,
    network_policy_ref: 'loopback-development',
    tls_policy_ref: 'system-default',
    ...(isDynamic ? { model_inventory: 'dynamic' } : {}),
    models: aliases.map(({ alias, model = 'GigaChat-2-Max', more }) => ({
      public_alias: alias,
      upstream_model: model,
      capability_profile: 'native-test-v1',
      support_status: 'stable',
      ...more
    }))
  }
}

/** The base URL of the emulator's chat-completions wire for a provider with this name. */
export function chatBaseUrl(emulator: Emulator, provider?: string): string {
  const { origin } = new URL(emulator.chatBaseUrl)
  return provider === undefined ? emulator.chatBaseUrl : `${origin}/openai/${provider}/v1`
}

/** The base URL of the emulator's Responses wire for a provider with this name. */
export function responsesBaseUrl(emulator: Emulator, provider: string): string {
  return `${new URL(emulator.chatBaseUrl).origin}/responses-provider/${provider}/v1`
}

/** The base URL of the emulator's Anthropic wire for a provider with this name, as the SDK takes it. */
export function anthropicBaseUrl(emulator: Emulator, provider: string): string {
  return `${emulator.anthropicBaseUrl}/${provider}`
}

/** The base URL of the emulator's Google GenAI wire for a provider with this name, as the SDK takes it. */
export function googleBaseUrl(emulator: Emulator, provider: string): string {
  return `${emulator.googleBaseUrl}/${provider}`
}

/** Writes a profile file of version 3 into a folder that is removed with the test; returns its path. */
export function writeProfileFile(t: Test, profiles: readonly object[], schemaVersion = 'v3'): string {
  const path = join(createTemporaryFolder(t), 'profiles.json')
  const document = { schema_version: `gateway.provider-profiles.${schemaVersion}`, profiles }
  writeFileSync(path, JSON.stringify(document, null, 2))
  return path
}

export interface WithProfileFile {
  profileFile: string
}

export type ProfileOptions = GatewayOptions & { profiles: readonly object[] }

/** Starts a gateway with these profiles in the process of the test. The variables hold the credentials that they name. */
export function startProfileGateway(t: Test, options: ProfileOptions): Promise<ServingGateway & WithProfileFile> {
  return startWithProfiles(t, options, startGateway)
}

export async function startWithProfiles<Gateway>(
  t: Test,
  { profiles, args = [], ...rest }: ProfileOptions,
  start: (t: Test, options: GatewayOptions) => Promise<Gateway>
): Promise<Gateway & WithProfileFile> {
  const profileFile = writeProfileFile(t, profiles)
  const gateway = await start(t, { ...rest, args: ['--config', profileFile, ...args] })
  return { ...gateway, profileFile }
}
