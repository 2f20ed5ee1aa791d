// What a profile refers to: variables with secrets, and files. A missing one is named, and no value,
// text or path is ever shown (decisions.md 87).
import { execFileSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { secretKey } from '../../../shared/profile/profile.ts'
import { StartupError } from '../../../shared/startup-error.ts'
import { planRuntime } from '../../../supervisor/plan/runtime-plan.ts'
import { listVariableNames } from '../../../supervisor/profile/variables.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { createFileInspector, expectRefusal, type Members, SECRET, v2, v3 } from './support.ts'

const inspectFile = createFileInspector(t)
const folder = createTemporaryFolder(t, 'hunter2-')
const CANARY = 'hunter2-canary'

const fixture = (name: string) => join(import.meta.dirname, '../../ops/emulator/fixtures', name)

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

/** Checks a refusal, and that stderr names the places and the variables, and nothing a value. */
function expectProblems(
  t: Test,
  { members, environment, code }: { members: Members; environment: Record<string, string>; code: string },
  expected: readonly string[]
): void {
  const result = inspectFile(v3(members), { environment })
  expectRefusal(t, result, code)
  const problems = expected.map(problem => `profiles[0].${problem}`).join('; ')
  t.same(result.warnings, [`The problem is in the profile file: ${problems}`])
  t.notMatch(result.output + result.warnings.join(), /hunter2/)
}

/** The secrets of a plan by the keys under which workers find them, revealed. */
function readCredentials(members: Members, environment: Record<string, string>): Record<string, string> {
  const path = file('profile.json', JSON.stringify(v3(members)))
  const plan = planRuntime({ environment, options: { variables: {}, isDemo: false, configPath: path } })
  return Object.fromEntries(Object.entries(plan.credentials).map(([key, secret]) => [key, secret.reveal()]))
}

const oauth2 = { token_url: 'https://login.example/token', client_id_env: 'ID', client_secret_env: 'SECRET_WORD' }
const account = JSON.stringify({
  type: 'service_account',
  client_email: 'gateway@project.iam.example',
  private_key: String(
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  )
})
const aws = { credential_env: null, auth: { aws_sigv4: { region: 'eu-central-1', service: 'bedrock' } } }

t.test('providers 7: every secret comes from its variable or from the file of its _FILE variable', async t => {
  const members = {
    proxy: 'http://proxy.corp:3128',
    proxy_credential_env: 'PROXY_LOGIN',
    headers: { 'x-org': { env: 'ORG' }, 'x-team': 'research' },
    query: { account: { env: 'ACCOUNT' } }
  }
  const expected = {
    p1: 'key',
    [secretKey('p1', 'PROXY_LOGIN')]: 'user:pass:word',
    [secretKey('p1', 'ORG')]: 'org',
    [secretKey('p1', 'ACCOUNT')]: 'счёт'
  }
  t.same(
    readCredentials(members, { UP_KEY: 'key', PROXY_LOGIN: 'user:pass:word', ORG: 'org', ACCOUNT: 'счёт' }),
    expected
  )
  const files = {
    UP_KEY_FILE: file('key', 'key\n'),
    PROXY_LOGIN_FILE: file('login', 'user:pass:word\r\n'),
    ORG_FILE: file('org', '\ufefforg'),
    ACCOUNT_FILE: file('account', 'счёт\n')
  }
  t.same(readCredentials(members, files), expected)
  t.same(readCredentials(members, { ...files, UP_KEY: '', ORG: '' }), expected, 'an empty variable is not set')
})

t.test('providers 7: oauth2, service accounts and AWS keys are read under their own names', async t => {
  t.same(readCredentials({ credential_env: null, auth: { oauth2 } }, { ID: 'id', SECRET_WORD: 'secret' }), {
    [secretKey('p1', 'ID')]: 'id',
    [secretKey('p1', 'SECRET_WORD')]: 'secret'
  })
  const google = { credential_env: null, auth: { google_service_account: { env: 'ACCOUNT' } } }
  t.same(readCredentials(google, { ACCOUNT_FILE: file('account.json', account) }), {
    [secretKey('p1', 'ACCOUNT')]: account
  })
  t.same(readCredentials(aws, { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'k' }), {
    [secretKey('p1', 'AWS_ACCESS_KEY_ID')]: 'AKIA',
    [secretKey('p1', 'AWS_SECRET_ACCESS_KEY')]: 'k'
  })
  const temporary = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'k', AWS_SESSION_TOKEN: 't' }
  t.equal(readCredentials(aws, temporary)[secretKey('p1', 'AWS_SESSION_TOKEN')], 't')
})

t.test('providers 8: a missing variable is named with its place, and all of a profile at once', async t => {
  const code = 'credential_unavailable'
  expectProblems(t, { members: {}, environment: {}, code }, ['credential_env: neither UP_KEY nor UP_KEY_FILE is set'])
  const members = {
    proxy: 'environment',
    proxy_credential_env: 'PROXY_LOGIN',
    headers: { 'x-hunter2': { env: 'ORG' } },
    query: { hunter2: { env: 'ACCOUNT' } }
  }
  expectProblems(t, { members, environment: { UP_KEY: SECRET }, code }, [
    'proxy_credential_env: neither PROXY_LOGIN nor PROXY_LOGIN_FILE is set',
    'headers: neither ORG nor ORG_FILE is set',
    'query: neither ACCOUNT nor ACCOUNT_FILE is set'
  ])
  expectProblems(t, { members: { credential_env: null, auth: { oauth2 } }, environment: { ID: CANARY }, code }, [
    'auth.oauth2.client_secret_env: neither SECRET_WORD nor SECRET_WORD_FILE is set'
  ])
  expectProblems(t, { members: aws, environment: { AWS_ACCESS_KEY_ID: CANARY }, code }, [
    'auth.aws_sigv4: neither AWS_SECRET_ACCESS_KEY nor AWS_SECRET_ACCESS_KEY_FILE is set'
  ])
  const start = () =>
    planRuntime({
      environment: {},
      options: { variables: {}, isDemo: false, configPath: file('missing.json', JSON.stringify(v2())) }
    })
  let summary = ''
  try {
    start()
  } catch (error) {
    summary = StartupError.is(error) ? error.summary : String(error)
  }
  t.equal(
    summary,
    'credential_unavailable: Credential reference is unavailable for an enabled profile. (profiles[0].credential_env: neither UP_KEY nor UP_KEY_FILE is set)'
  )
})

t.test('providers 7: a variable and its file exclude each other, and a wrong file or value is named', async t => {
  const code = 'credential_unavailable'
  const rows: ReadonlyArray<readonly [Record<string, string>, string]> = [
    [{ UP_KEY: CANARY, UP_KEY_FILE: file('given', CANARY) }, 'UP_KEY and UP_KEY_FILE must not both be set'],
    [{ UP_KEY_FILE: join(folder, 'missing') }, 'UP_KEY_FILE must name a readable file'],
    [{ UP_KEY_FILE: folder }, 'UP_KEY_FILE must name a readable file'],
    [{ UP_KEY_FILE: file('empty', '\n') }, 'UP_KEY_FILE must name a file that is not empty'],
    [
      { UP_KEY_FILE: file('lines', `${CANARY}\n${CANARY}\n`) },
      'the value of UP_KEY must be one line of text that a header can carry'
    ]
  ]
  for (const [environment, problem] of rows) {
    expectProblems(t, { members: {}, environment, code }, [`credential_env: ${problem}`])
  }
  const proxy = { proxy: 'environment', proxy_credential_env: 'PROXY_LOGIN' }
  for (const login of [CANARY, `:${CANARY}`, `user:${CANARY}\n`]) {
    expectProblems(t, { members: proxy, environment: { UP_KEY: SECRET, PROXY_LOGIN: login }, code }, [
      'proxy_credential_env: the value of PROXY_LOGIN must be user:password'
    ])
  }
  const query = { auth: { query: 'key' } }
  expectProblems(t, { members: query, environment: { UP_KEY: `${CANARY}\t` }, code }, [
    'credential_env: the value of UP_KEY must be one line of text'
  ])
  t.equal(inspectFile(v3(query), { environment: { UP_KEY: 'ключ' } }).exitCode, 0)
})

t.test('the secret of a setting that a profile names is read once, by the rules of settings', async t => {
  const members = { credential_env: 'UPSTREAM_CREDENTIALS' }
  t.same(readCredentials(members, { UPSTREAM_CREDENTIALS_FILE: file('native', 'Zm9v\n') }), { p1: 'Zm9v' })
})

const readable: Members = {
  tls_policy_ref: 'private-ca',
  ca_file: fixture('ca.pem'),
  client_cert_file: fixture('client.pem'),
  client_key_file: fixture('client.key')
}

t.test('providers 1: files of certificates are proven before the start, without a connection', async t => {
  t.equal(inspectFile(v3(readable)).exitCode, 0)
  const otherKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'pem' })
  const lockedKey = createPrivateKey(readFileSync(fixture('client.key'))).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: CANARY
  })
  const pipe = join(folder, 'pipe.pem')
  execFileSync('mkfifo', [pipe])
  const noPem = file('no.pem', CANARY)
  const rows: ReadonlyArray<readonly [Members, string]> = [
    [{ ca_file: join(folder, 'missing.pem') }, 'ca_file: must name a readable file'],
    [{ ca_file: folder }, 'ca_file: must name a readable file'],
    [{ ca_file: pipe }, 'ca_file: must name a readable file'],
    [{ ca_file: noPem }, 'ca_file: must name a file with nothing but valid certificates in PEM form'],
    [{ client_cert_file: noPem }, 'client_cert_file: must name a file with a valid certificate in PEM form'],
    [{ client_key_file: noPem }, 'client_key_file: must name a file with a private key in PEM form'],
    [
      { client_key_file: file('other.key', String(otherKey)) },
      'client_key_file: must hold the key of the certificate that client_cert_file names'
    ],
    [
      { client_key_file: file('locked.key', String(lockedKey)) },
      'client_key_file: must name a private key that needs no password'
    ]
  ]
  for (const [members, problem] of rows) {
    const given = { members: { ...readable, ...members }, environment: { UP_KEY: SECRET } }
    expectProblems(t, { ...given, code: 'profile_file_unavailable' }, [problem])
  }
  const both = { ...readable, ca_file: noPem, client_key_file: noPem }
  expectProblems(t, { members: both, environment: { UP_KEY: SECRET }, code: 'profile_file_unavailable' }, [
    'ca_file: must name a file with nothing but valid certificates in PEM form',
    'client_key_file: must name a file with a private key in PEM form'
  ])
})

t.test('providers 1: the key of a service account is proven, in its file and in its variable', async t => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pkcs1 = String(privateKey.export({ type: 'pkcs1', format: 'pem' }))
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const elliptic = String(ec.export({ type: 'pkcs8', format: 'pem' }))
  const rows: ReadonlyArray<readonly [text: string, problem: string]> = [
    [CANARY, 'must hold the key of a service account in JSON'],
    ['[]', 'must hold the key of a service account in JSON'],
    [
      JSON.stringify({ ...JSON.parse(account), type: 'authorized_user' }),
      'must hold a key whose type is service_account'
    ],
    [JSON.stringify({ ...JSON.parse(account), client_email: '' }), 'must hold a key with client_email'],
    ...[CANARY, elliptic, pkcs1].map(
      private_key =>
        [
          JSON.stringify({ ...JSON.parse(account), private_key }),
          'must hold a key whose private_key is an RSA key in PKCS #8 form'
        ] as const
    ),
    ...['http://oauth2.example/token', 'https://10.0.0.1/token', CANARY, 5].map(
      token_uri =>
        [
          JSON.stringify({ ...JSON.parse(account), token_uri }),
          'must hold a key whose token_uri the network policy of the profile allows'
        ] as const
    )
  ]
  const withAccount = (google_service_account: Members) => ({ credential_env: null, auth: { google_service_account } })
  t.equal(inspectFile(v3(withAccount({ file: file('right.json', account) })), { environment: {} }).exitCode, 0)
  t.equal(inspectFile(v3(withAccount({ env: 'ACCOUNT' })), { environment: { ACCOUNT: account } }).exitCode, 0)
  for (const [text, problem] of rows) {
    const members = withAccount({ file: file('wrong.json', text) })
    expectProblems(t, { members, environment: {}, code: 'profile_file_unavailable' }, [
      `auth.google_service_account.file: ${problem}`
    ])
    const environment = { ACCOUNT: text }
    expectProblems(t, { members: withAccount({ env: 'ACCOUNT' }), environment, code: 'credential_unavailable' }, [
      `auth.google_service_account.env: the value of ACCOUNT ${problem}`
    ])
  }
})

t.test('a profile without a route needs neither its variables nor its files', async t => {
  const members = { ...readable, ca_file: join(folder, 'missing.pem'), headers: { 'x-org': { env: 'ORG' } } }
  t.equal(inspectFile(v3(members, { enabled: false }), { environment: {} }).exitCode, 0)
})

t.test('providers 1: proxies and token servers are judged like destinations', async t => {
  const rows: ReadonlyArray<readonly [Members, string, string]> = [
    [{ proxy: 'http://169.254.169.254' }, 'proxy', 'invalid_destination'],
    [
      { auth: { oauth2: { ...oauth2, token_url: 'http://login.example/token' } } },
      'auth.oauth2.token_url',
      'invalid_destination'
    ],
    [
      { auth: { oauth2: { ...oauth2, token_url: 'https://10.0.0.1/token' } } },
      'auth.oauth2.token_url',
      'invalid_destination'
    ],
    [
      { auth: { oauth2: { ...oauth2, network_policy_ref: 'loopback-development' } } },
      'auth.oauth2.token_url',
      'invalid_destination'
    ],
    [
      { auth: { oauth2: { ...oauth2, network_policy_ref: 'public' } } },
      'auth.oauth2.network_policy_ref',
      'invalid_policy_reference'
    ]
  ]
  for (const [members, place, code] of rows) {
    const credential = 'auth' in members ? { credential_env: null } : {}
    const given = { members: { ...credential, ...members }, environment: { UP_KEY: SECRET } }
    expectProblems(t, { ...given, code }, [place])
  }
  const environment = { UP_KEY: SECRET, ID: 'id', SECRET_WORD: SECRET }
  for (const members of [
    { proxy: 'http://127.0.0.1:3128' },
    { proxy: 'https://10.0.0.1' },
    {
      credential_env: null,
      auth: { oauth2: { ...oauth2, token_url: 'http://10.0.0.1/t', network_policy_ref: 'private-network' } }
    }
  ]) {
    t.equal(inspectFile(v3(members), { environment }).exitCode, 0, JSON.stringify(members))
  }
})

t.test('variables of profiles are no misspelled settings, and are hidden from workers with their files', async t => {
  const members = { headers: { 'x-org': { env: 'GATEWAY_ORG' } } }
  const environment = { UP_KEY: SECRET, GATEWAY_ORG_FILE: file('org', 'org') }
  t.same(inspectFile(v3(members), { environment }).warnings, [])
  t.match(inspectFile(v3(), { environment }).warnings, [/GATEWAY_ORG_FILE/])
  const path = file('names.json', JSON.stringify(v3({ ...members, query: { a: { env: 'UP_KEY' } } })))
  const { profiles } = planRuntime({ environment, options: { variables: {}, isDemo: false, configPath: path } })
  t.same(listVariableNames(profiles.profiles), ['UP_KEY', 'UP_KEY_FILE', 'GATEWAY_ORG', 'GATEWAY_ORG_FILE'])
})
