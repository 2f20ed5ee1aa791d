// The profile file with which the benchmark starts the product as a bridge: an alias for every model of the scenarios, so that the model's
// name differs on both sides, as it does in use.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FEATURE_NAMES } from '../../shared/profile.ts'
import type { BodyShape } from './bodies.ts'

/** The variable with the provider's key. */
export const PROVIDER_KEY_VARIABLE = 'BENCH_PROVIDER_KEY'

/** The name under which a bridge serves a model of the benchmark's upstream. */
export function nameAlias(model: string): string {
  return model.replace('bench', 'bridge')
}

/** Writes the file into a folder; returns its path. */
export function writeBridgeProfile(folder: string, upstreamPort: number, shapes: readonly BodyShape[]): string {
  const models = [...new Set(shapes.map(({ model }) => model))]
  const profile = {
    profile_id: 'bench',
    provider_kind: 'chat_compatible',
    base_url: `http://127.0.0.1:${upstreamPort}/openai/v1`,
    credential_env: PROVIDER_KEY_VARIABLE,
    allow_loopback: true,
    network_policy_ref: 'loopback-development',
    tls_policy_ref: 'system-default',
    models: models.map(model => ({
      public_alias: nameAlias(model),
      upstream_model: model,
      capability_profile: 'bench-v1',
      support_status: 'technical_preview',
      capabilities: { features: FEATURE_NAMES, limits: { context_window: 1_000_000 } }
    }))
  }
  const path = join(folder, 'profiles.json')
  writeFileSync(path, JSON.stringify({ schema_version: 'gateway.provider-profiles.v3', profiles: [profile] }))
  return path
}
