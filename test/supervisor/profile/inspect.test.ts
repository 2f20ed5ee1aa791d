// What `--inspect-config` shows of a profile that has every member, and what it hides (providers.md 1).
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { expandFeatures } from '../../../shared/profile/profile-features.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { baseAlias, capabilities, createFileInspector, type Members, v3 } from './support.ts'

const inspectFile = createFileInspector(t)
/** Its path is a canary as well. */
const folder = createTemporaryFolder(t, 'canary-')

let canaries = 0
/** A text that no output may hold. */
function plant(): string {
  canaries += 1
  return `canary-${canaries}`
}

function file(name: string, content: string | Buffer): string {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

const fixture = (name: string) => readFileSync(join(import.meta.dirname, '../../ops/emulator/fixtures', name))
const files = {
  ca_file: file('ca.pem', fixture('ca.pem')),
  client_cert_file: file('client.pem', fixture('client.pem')),
  client_key_file: file('client.key', fixture('client.key'))
}

const everything: Members = {
  ...files,
  tls_policy_ref: 'private-ca',
  network_policy_ref: 'private-network',
  allow_private: true,
  base_url: 'http://vllm.inference.svc:8000/v1',
  wire: 'responses',
  state: 'gateway',
  token_counting: 'off',
  unsupported: 'refuse',
  proxy: 'http://proxy.corp:3128/',
  proxy_credential_env: 'PROXY_LOGIN',
  auth: { header: 'Api-Key', prefix: plant() },
  headers: { 'x-team': plant(), 'X-Org': { env: 'ORG' } },
  query: { 'api-version': plant(), account: { env: 'ACCOUNT' } },
  timeouts: { connect_seconds: 5, first_byte_seconds: 60, idle_seconds: 30, total_seconds: 0 },
  limits: { response_bytes: 1_048_576 },
  connections: 64,
  retries: 2,
  model_inventory: 'dynamic',
  public_prefix: 'vllm/',
  default_capabilities: { features: ['chat', '-tool_choice'], limits: { context_window: 32_768 } }
}

t.test('providers 17: the inspect document shows every member without a value, a path or a secret', async t => {
  const { exitCode, document, output, warnings } = inspectFile(v3(everything), {
    environment: {
      UP_KEY_FILE: file('key', plant()),
      PROXY_LOGIN: `${plant()}:${plant()}`,
      ORG: plant(),
      ACCOUNT: plant(),
      HTTPS_PROXY: `http://${plant()}:${plant()}@proxy.example:8080`
    }
  })
  t.equal(exitCode, 0)
  t.same(warnings, [])
  t.notMatch(output, /canary/)
  const { models, profile_revision, ...profile } = document.profiles[0]
  t.match(profile_revision, /^sha256:/)
  t.same(profile, {
    profile_id: 'p1',
    provider_kind: 'chat_compatible',
    base_url: 'http://vllm.inference.svc:8000/v1',
    credential_env: 'UP_KEY',
    network_policy_ref: 'private-network',
    tls_policy_ref: 'private-ca',
    allow_loopback: false,
    model_inventory: 'dynamic',
    wire: 'responses',
    state: 'gateway',
    token_counting: 'off',
    unsupported: 'refuse',
    allow_private: true,
    ca_file: true,
    client_cert_file: true,
    client_key_file: true,
    proxy: 'http://proxy.corp:3128',
    proxy_credential_env: 'PROXY_LOGIN',
    auth: { type: 'header', header: 'api-key' },
    headers: ['x-org', 'x-team'],
    query: ['account', 'api-version'],
    timeouts: { connect_seconds: 5, first_byte_seconds: 60, idle_seconds: 30, total_seconds: 0 },
    limits: { response_bytes: 1_048_576 },
    connections: 64,
    retries: 2,
    public_prefix: 'vllm/',
    default_capabilities: {
      features: expandFeatures(['chat', '-tool_choice']),
      limits: { context_window: 32_768 }
    }
  })
  t.equal(models.length, 1)
})

t.test('providers 17: each form of credentials is shown by its type, its place and its variables', async t => {
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const account = JSON.stringify({ type: 'service_account', client_email: plant(), private_key: key })
  const oauth2 = {
    token_url: 'https://login.example/tenant/token',
    client_id_env: 'ID',
    client_secret_env: 'WORD',
    scope: plant(),
    audience: plant()
  }
  const environment = {
    ID: plant(),
    WORD: plant(),
    ACCOUNT: account,
    AWS_ACCESS_KEY_ID: plant(),
    AWS_SECRET_ACCESS_KEY: plant(),
    AWS_SESSION_TOKEN: plant()
  }
  const forms: ReadonlyArray<readonly [written: Members, shown: Members]> = [
    [
      { oauth2 },
      {
        type: 'oauth2',
        token_url: 'https://login.example/tenant/token',
        client_id_env: 'ID',
        client_secret_env: 'WORD',
        client_auth: 'basic'
      }
    ],
    [
      { google_service_account: { file: file('account.json', account), scopes: [plant()] } },
      { type: 'google_service_account', file: true }
    ],
    [{ google_service_account: { env: 'ACCOUNT' } }, { type: 'google_service_account', env: 'ACCOUNT' }],
    [
      { aws_sigv4: { region: 'eu-central-1', service: 'bedrock' } },
      { type: 'aws_sigv4', region: 'eu-central-1', service: 'bedrock' }
    ]
  ]
  for (const [auth, shown] of forms) {
    const { exitCode, document, output } = inspectFile(v3({ credential_env: null, auth }), { environment })
    t.equal(exitCode, 0)
    t.same(document.profiles[0].auth, shown)
    t.notMatch(output, /canary/)
  }
  const query = inspectFile(v3({ auth: { query: 'key' } }), { environment: { UP_KEY: plant() } })
  t.same(query.document.profiles[0].auth, { type: 'query', query: 'key' })
})

t.test('what a file does not write is not shown, and an alias shows its targets and each feature', async t => {
  const { document } = inspectFile(v3(), {})
  t.same(Object.keys(document.profiles[0]), [
    ...['profile_id', 'profile_revision', 'provider_kind', 'base_url', 'credential_env', 'network_policy_ref'],
    ...['tls_policy_ref', 'allow_loopback', 'model_inventory', 'models']
  ])
  const targets = [
    { profile_id: 'p1', upstream_model: 'a', weight: 3, priority: 0 },
    { profile_id: 'p1', upstream_model: 'b', weight: 1, priority: 1 }
  ]
  const declared = { ...capabilities, features: ['reasoning'] }
  const aliased = inspectFile(v3({}, { upstream_model: undefined, targets, capabilities: declared }))
  const { upstream_model: _model, ...alias } = baseAlias
  t.same(aliased.document.profiles[0].models, [
    {
      ...alias,
      targets,
      capabilities: { ...capabilities, features: expandFeatures(['reasoning']) },
      enabled: true,
      deprecated: false
    }
  ])
})
