// What the limits of a key cost: one checkout whose one key has none against the same with a key of a keys file, whose own limits and those
// of its group are counted and never reached.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LOAD_KEY } from './http-exchange.ts'

/** It does what a gateway without limits does not: its figure is reported and has no goal. */
export const LIMITS_RATIO_MAX = Number.POSITIVE_INFINITY

export interface LimitedKeys {
  /** Settings of the gateway whose key has limits. */
  readonly variables: Record<string, string>
  close(): void
}

const LIMITS = {
  requests_per_minute: 1_000_000_000,
  tokens_per_minute: 1_000_000_000_000,
  concurrent_requests: 100_000
}

/** Writes the keys file. */
export function writeLimitedKeys(): LimitedKeys {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-keys-'))
  const file = join(folder, 'keys.json')
  const document = {
    schema_version: 'gateway.keys.v1',
    groups: { bench: { limits: LIMITS } },
    keys: [{ name: 'bench', group: 'bench', secrets: [{ env: 'BENCH_KEY' }], limits: LIMITS }]
  }
  writeFileSync(file, JSON.stringify(document))
  return {
    variables: {
      GATEWAY_KEYS_FILE: file,
      BENCH_KEY: LOAD_KEY,
      // A secret belongs to one key.
      GATEWAY_API_KEY: 'bench-other-key-0123456789'
    },
    close: () => rmSync(folder, { recursive: true, force: true })
  }
}
