// The profile file with which the isolation figures start the product: small requests have an upstream of their own, so that what they wait
// for is the gateway and not an upstream that is busy with the large ones.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The name under which the upstream of small requests serves its model. */
export const SMALL_ALIAS = 'small'
/** Its model there. */
export const SMALL_MODEL = 'bench-L0-N1-G0'
/** Where an upstream gives the token for the key of a native profile. */
export const TOKEN_PATH = '/oauth'

const KEY_VARIABLE = 'BENCH_UPSTREAM_KEY'

/**
 * Writes the file into a folder; returns the variables that tell the product of it.
 * @param largeModels the models of the upstream of large requests, which are served under their own names.
 */
export function writeSplitProfile(
  folder: string,
  ports: { upstream: number; largeUpstream: number },
  largeModels: readonly string[]
): Record<string, string> {
  const profiles = [
    writeNative('small', ports.upstream, [writeAlias(SMALL_ALIAS, SMALL_MODEL)]),
    writeNative(
      'large',
      ports.largeUpstream,
      largeModels.map(model => writeAlias(model, model))
    )
  ]
  const path = join(folder, 'split.json')
  writeFileSync(path, JSON.stringify({ schema_version: 'gateway.provider-profiles.v3', profiles }))
  return {
    GATEWAY_CONFIG: path,
    [KEY_VARIABLE]: 'bench',
    UPSTREAM_AUTH_URL: `http://127.0.0.1:${ports.upstream}${TOKEN_PATH}`
  }
}

function writeAlias(alias: string, model: string): object {
  return {
    public_alias: alias,
    upstream_model: model,
    capability_profile: 'bench-v1',
    support_status: 'technical_preview'
  }
}

function writeNative(id: string, port: number, models: object[]): object {
  return {
    profile_id: id,
    provider_kind: 'native',
    base_url: `http://127.0.0.1:${port}/api/v1`,
    credential_env: KEY_VARIABLE,
    allow_loopback: true,
    network_policy_ref: 'loopback-development',
    tls_policy_ref: 'system-default',
    models
  }
}
