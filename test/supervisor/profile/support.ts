// Runs the preflight over the text of a profile file, as `--inspect-config --config` does.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { StartOptions } from '../../../supervisor/plan/command-line.ts'
import { inspectConfiguration } from '../../../supervisor/preflight.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

export type Members = Record<string, unknown>

/** What the credential variables of the tests hold; it must be in no output. */
export const SECRET = 'hunter2-of-the-profile'
/** `K` of the contract's cases. */
export const withKey = { UP_KEY: SECRET }

/** The alias and the profile of the "base file" of the contract's cases. */
export const baseAlias = {
  public_alias: 'bridge/a',
  upstream_model: 'model-a',
  capability_profile: 'model-a-v1',
  support_status: 'stable'
}
export const baseProfile = {
  profile_id: 'p1',
  provider_kind: 'chat_compatible',
  base_url: 'https://up.example/v1',
  credential_env: 'UP_KEY',
  network_policy_ref: 'public-openai',
  tls_policy_ref: 'system-default',
  models: [baseAlias]
}
export const baseFile = { schema_version: 'gateway.provider-profiles.v2', profiles: [baseProfile] }

export const nativeProfile = {
  ...baseProfile,
  profile_id: 'n1',
  provider_kind: 'native',
  network_policy_ref: 'public-native'
}

export const features = [
  ...['roles', 'ordered_content_parts', 'text', 'stop_reason', 'usage', 'model_identity', 'request_error_classes'],
  ...['cancellation', 'context_token_limits']
]
export const capabilities = { features, limits: { context_window: 4096 } }

/** A file of the third version with one profile, whose alias declares capabilities. */
export function v3(profile: Members = {}, alias: Members = {}) {
  return {
    schema_version: 'gateway.provider-profiles.v3',
    profiles: [{ ...baseProfile, models: [{ ...baseAlias, capabilities, ...alias }], ...profile }]
  }
}

/** The base file with members of its profile or its alias replaced; an undefined one is left out. */
export function v2(profile: Members = {}, alias: Members = {}) {
  return { ...baseFile, profiles: [{ ...baseProfile, models: [{ ...baseAlias, ...alias }], ...profile }] }
}

export interface Inspected {
  exitCode: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read members of both documents
  document: any
  /** stdout */
  output: string
  /** The lines of stderr, without the one that has the words of the refusal. */
  warnings: readonly string[]
}

/**
 * Runs the preflight with the given sources; checks what holds for every one: one line on stdout, the words of a refusal on stderr too, and
 * no secret anywhere.
 */
export function inspect(environment: Record<string, string>, options: Partial<StartOptions> = {}): Inspected {
  const { output, exitCode, warnings } = inspectConfiguration({
    environment,
    options: { variables: {}, isDemo: false, ...options }
  })
  t.match(output, /^[^\n]+\n$/, 'the document is one line')
  t.notMatch(output + warnings.join(), SECRET, 'no secret is shown')
  const document = JSON.parse(output)
  const words: string | undefined = document.error?.message
  if (words !== undefined && document.error.details.length === 0) t.ok(warnings.includes(words), 'stderr has the words')
  return { document, exitCode, warnings: warnings.filter(line => line !== words), output }
}

export type InspectFile = (
  content: string | Buffer | object,
  options?: { environment?: Record<string, string>; name?: string }
) => Inspected

/** Returns a function that writes a profile file (an object as JSON, a text as YAML) and runs the preflight on it. */
export function createFileInspector(t: Test): InspectFile {
  const folder = createTemporaryFolder(t)
  let count = 0
  return (content, { environment = withKey, name } = {}) => {
    const isText = typeof content === 'string' || Buffer.isBuffer(content)
    count += 1
    const path = join(folder, name ?? `${count}.${isText ? 'yaml' : 'json'}`)
    writeFileSync(path, isText ? content : JSON.stringify(content))
    return inspect(environment, { configPath: path })
  }
}

/** Checks a refusal: exit code 2 and exactly the document of the code and the message. */
export function expectRefusal(t: Test, result: Inspected, code: string, message?: string | RegExp): void {
  t.equal(result.exitCode, 2)
  t.match(result.document, { schema_version: 'gateway.error.v1', error: { code, details: [] } })
  t.same(Object.keys(result.document), ['schema_version', 'error'])
  if (message !== undefined) t.match(result.document.error.message, message)
}

export const SCHEMA_MESSAGE = /^Provider profile config does not match the required schema\.$/
export const MALFORMED_MESSAGE = /^Provider profile config is malformed\.$/
