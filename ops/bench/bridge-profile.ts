// The profile file with which the benchmark starts the product as a bridge: an alias for every model of the scenarios, so that the model's
// name differs on both sides, as it does in use.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FEATURE_NAMES } from '../../shared/profile/profile.ts'
import type { BodyShape } from './bodies.ts'

/** The variable with the provider's key. */
export const PROVIDER_KEY_VARIABLE = 'BENCH_PROVIDER_KEY'

/** A wire of external providers, and how the benchmark reaches it. */
export interface BenchWire {
  kind: 'chat_compatible' | 'messages_compatible' | 'content_compatible'
  /** In the file, where the kind has several wires. */
  wire?: 'responses'
  /** Stands before the path of a request to the upstream. */
  prefix: string
  /** Begins the names of the aliases. */
  alias: string
}

export const benchWires = {
  chat: { kind: 'chat_compatible', prefix: '/openai', alias: 'bridge' },
  responses: { kind: 'chat_compatible', wire: 'responses', prefix: '/openai', alias: 'responses' },
  messages: { kind: 'messages_compatible', prefix: '/anthropic', alias: 'messages' },
  content: { kind: 'content_compatible', prefix: '/google', alias: 'content' }
} as const satisfies Record<string, BenchWire>

export type BenchWireName = keyof typeof benchWires

/** The name under which a bridge serves a model of the benchmark's upstream on a wire. */
export function nameAlias(model: string, wire: BenchWireName): string {
  return model.replace('bench', benchWires[wire].alias)
}

/** Writes the file into a folder; returns its path. */
export function writeBridgeProfile(folder: string, upstreamPort: number, shapes: readonly BodyShape[]): string {
  const models = [...new Set(shapes.map(({ model }) => model))]
  const profiles = Object.entries(benchWires).map(([name, wire]) =>
    writeProfile({ name: name as BenchWireName, wire, upstreamPort, models })
  )
  const path = join(folder, 'profiles.json')
  writeFileSync(path, JSON.stringify({ schema_version: 'gateway.provider-profiles.v3', profiles }))
  return path
}

interface BenchProfile {
  name: BenchWireName
  wire: BenchWire
  upstreamPort: number
  models: readonly string[]
}

function writeProfile({ name, wire: { kind, wire, prefix }, upstreamPort, models }: BenchProfile): object {
  const version = kind === 'chat_compatible' ? '/v1' : ''
  return {
    profile_id: `bench-${name}`,
    provider_kind: kind,
    ...(wire && { wire }),
    base_url: `http://127.0.0.1:${upstreamPort}${prefix}${version}`,
    credential_env: PROVIDER_KEY_VARIABLE,
    allow_loopback: true,
    network_policy_ref: 'loopback-development',
    tls_policy_ref: 'system-default',
    models: models.map(model => ({
      public_alias: nameAlias(model, name),
      upstream_model: model,
      capability_profile: 'bench-v1',
      support_status: 'technical_preview',
      capabilities: { features: FEATURE_NAMES, limits: { context_window: 1_000_000 } }
    }))
  }
}
