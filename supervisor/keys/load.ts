// Loads a keys file: reads it, validates it, and turns the secrets that it names into digests (keys.md 1).
import type { GatewayKey, KeyGroup, KeySet, Limits } from '../../shared/keys/key-set.ts'
import { DEFAULT_CURRENCY } from '../../shared/prices.ts'
import type { Settings } from '../../shared/settings.ts'
import type { StartupErrorCode } from '../../shared/startup-error.ts'
import { type FileProblem, refuseProblems } from '../config-file/problems.ts'
import { type ConfigFileKind, readConfigFile } from '../config-file/read.ts'
import type { VariableLookup } from '../config-file/variable.ts'
import { computeKeysRevision } from './revision.ts'
import { findBudgets, findNameProblems, findRepeatedSecrets } from './rules.ts'
import { type GroupContent, type KeyContent, type KeysContent, type LimitsContent, readKeysShape } from './schema.ts'
import { listSecretFiles, listSecretVariables, readDigest } from './secrets.ts'

const KEYS_FILE: ConfigFileKind = { code: 'invalid_keys_file', subject: 'Keys file' }

const MESSAGES = {
  invalid_keys_file: 'Keys file does not match the required schema.',
  key_secret_unavailable: 'A secret of the keys file cannot be used.',
  budget_without_store: 'A budget needs a durable counter: GATEWAY_LIMITS_REDIS_URL or GATEWAY_RESPONSES_STORE_DSN.',
  budget_without_prices: 'A budget needs the price of a model: GATEWAY_PRICES_FILE, or pricing of an alias.'
} as const satisfies Partial<Record<StartupErrorCode, string>>

/** What the content of the file must fit. */
export interface KeysContext {
  readonly lookup: VariableLookup
  readonly settings: Pick<Settings, 'adminApiKey' | 'apiKey' | 'apiKeys'>
  /** Spend is counted where a restart does not lose it. */
  readonly hasDurableCounter: boolean
  /** At least one model has a price. */
  readonly hasPrices: boolean
  /** Of the prices; undefined where nothing names it. */
  readonly currency?: string | undefined
}

export interface LoadedKeys {
  readonly keys: KeySet
  /** The files of secrets, whose content counts as that of the file. */
  readonly secretFiles: readonly string[]
  /** The variables that hold secrets or name their files. */
  readonly variableNames: readonly string[]
}

/** Reads the file and its secrets. Throws `StartupError` with all problems of a step; it repeats no content, value or path of a file. */
export function loadKeys(path: string, context: KeysContext): LoadedKeys {
  const shape = readKeysShape(readConfigFile(path, KEYS_FILE))
  if ('problems' in shape) throw refuse('invalid_keys_file', shape.problems)
  const content = { ...shape.content, currency: shape.content.currency ?? context.currency ?? DEFAULT_CURRENCY }
  // A budget in one currency cannot be compared with costs in another one.
  if (context.currency !== undefined && content.currency !== context.currency) {
    refuseIfAny('invalid_keys_file', [{ path: ['currency'], explanation: 'must be the currency of the prices' }])
  }
  refuseIfAny('invalid_keys_file', findNameProblems(content, Object.keys(context.settings.apiKeys)))
  const digests = readDigests(content, context.lookup)
  refuseIfAny('invalid_keys_file', findRepeatedSecrets(digests, context.settings))
  const budgets = findBudgets(content)
  if (!context.hasDurableCounter) refuseIfAny('budget_without_store', budgets)
  if (!context.hasPrices) refuseIfAny('budget_without_prices', budgets)
  const secrets = content.keys.flatMap(key => key.secrets)
  return {
    keys: {
      revision: computeKeysRevision(content),
      currency: content.currency,
      groups: Object.entries(content.groups).map(toGroup),
      keys: content.keys.map((key, index) => toKey(key, digests[index] ?? []))
    },
    secretFiles: listSecretFiles(secrets, context.lookup),
    variableNames: listSecretVariables(secrets)
  }
}

/** The digests of each key, in the order of the file. */
function readDigests(content: KeysContent, lookup: VariableLookup): string[][] {
  const problems: FileProblem[] = []
  const digests = content.keys.map((key, index) =>
    key.secrets.flatMap((secret, position) => {
      const read = readDigest(secret, lookup)
      if ('digest' in read) return [read.digest]
      problems.push({ path: ['keys', index, 'secrets', position], explanation: read.problem })
      return []
    })
  )
  refuseIfAny('key_secret_unavailable', problems)
  return digests
}

function toGroup([name, { models, limits }]: [string, GroupContent]): KeyGroup {
  return { name, ...(models !== undefined && { models }), limits: toLimits(limits) }
}

function toKey(key: KeyContent, digests: string[]): GatewayKey {
  const { name, group, models, limits, expires_at, enabled, metadata } = key
  return {
    name,
    ...(group !== undefined && { group }),
    digests,
    ...(models !== undefined && { models }),
    limits: toLimits(limits),
    ...(expires_at !== undefined && { expiresAtMs: Date.parse(expires_at) }),
    isEnabled: enabled,
    metadata: { ...metadata }
  }
}

function toLimits(limits: LimitsContent = {}): Limits {
  const { requests_per_minute, tokens_per_minute, concurrent_requests, budget } = limits
  return {
    ...(requests_per_minute !== undefined && { requestsPerMinute: requests_per_minute }),
    ...(tokens_per_minute !== undefined && { tokensPerMinute: tokens_per_minute }),
    ...(concurrent_requests !== undefined && { concurrentRequests: concurrent_requests }),
    ...(budget !== undefined && { budget })
  }
}

function refuseIfAny(code: keyof typeof MESSAGES, problems: readonly FileProblem[]): void {
  if (problems.length > 0) throw refuse(code, problems)
}

function refuse(code: keyof typeof MESSAGES, problems: readonly FileProblem[]) {
  return refuseProblems({ code, message: MESSAGES[code] }, problems)
}
