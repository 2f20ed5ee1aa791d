// The snippets of the guide to profile files: each is a file, a profile, members of one, or an alias,
// and the gateway reads it in its place.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseYaml } from '../../supervisor/config-file/yaml.ts'
import { readProfileDocument } from '../../supervisor/profile/document.ts'

const guide = readFileSync(join(import.meta.dirname, '../../ops/guides/profiles.md'), 'utf8')
const snippets = [...guide.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text)

const alias = {
  public_alias: 'guide/model',
  upstream_model: 'model',
  capability_profile: 'guide-v1',
  support_status: 'stable',
  capabilities: { features: ['chat'], limits: { context_window: 4096 } }
}

const profile = {
  profile_id: 'guide',
  provider_kind: 'chat_compatible',
  base_url: 'https://up.example/v1',
  credential_env: 'KEY',
  network_policy_ref: 'public-openai',
  tls_policy_ref: 'system-default',
  models: [alias]
}

/** A whole file with what a snippet shows, in the place that its own members tell. */
function complete(shown: unknown): object {
  const file = (...profiles: object[]) => ({ schema_version: 'gateway.provider-profiles.v3', profiles })
  if (Array.isArray(shown)) {
    const [first] = shown
    if ('profile_id' in first) return file(...shown.map(one => ({ models: [alias], ...one })))
    const targets: Array<{ profile_id: string }> = shown.flatMap(one => one.targets ?? [])
    const others = targets.map(({ profile_id }) => ({ ...profile, profile_id, models: [] }))
    return file({ ...profile, models: shown }, ...others)
  }
  const members = Object(shown)
  if ('schema_version' in members) return members
  const form = members.auth ?? {}
  const isKeyless = members.auth !== undefined && form.header === undefined && form.query === undefined
  return file({ ...profile, ...(isKeyless && { credential_env: null }), ...members })
}

t.test('every snippet of the guide is read in its place', async t => {
  t.ok(snippets.length >= 6)
  for (const text of snippets) {
    t.doesNotThrow(() => readProfileDocument(complete(parseYaml(text))), text)
  }
})
