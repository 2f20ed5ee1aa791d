// Mistakes in TLS files, as a preflight and a start find them.
import { execFileSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { StartupError } from '../../../shared/startup-error.ts'
import { type PlanSources, planRuntime } from '../../../supervisor/plan/runtime-plan.ts'
import { inspectConfiguration } from '../../../supervisor/preflight.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const folder = createTemporaryFolder(t, 'tls-hunter2-')

const fixture = (name: string) => join(import.meta.dirname, '../../ops/emulator/fixtures', name)
const read = (name: string) => readFileSync(fixture(name), 'utf8')

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

const lockedKey = createPrivateKey(read('client.key')).export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'hunter2'
})
const otherKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'pem' })

const [cert, key, authority] = [fixture('client.pem'), fixture('client.key'), fixture('ca.pem')]
/** 512 bits: a well-formed pair that TLS refuses. */
const shortKey = join(import.meta.dirname, 'fixtures/short-key.pem')
const missing = join(folder, 'missing.pem')
const noPem = file('no-pem.txt', 'hunter2')
const locked = file('locked.key', String(lockedKey))
const other = file('other.key', String(otherKey))
const combined = file('combined.pem', `${read('client.pem')}\n${read('client.key')}`)
const chain = file('chain.pem', `hunter2\n${read('client.pem')}\n${read('ca.pem')}`)
const brokenBlock = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
const broken = file('broken.pem', `${read('ca.pem')}\n${brokenBlock}`)
mkdirSync(join(folder, 'directory.pem'))
const pipe = join(folder, 'pipe.pem')
execFileSync('mkfifo', [pipe])

const sourcesOf = (environment: Record<string, string>): PlanSources => ({
  environment,
  options: { variables: {}, isDemo: false, envFile: '/dev/null' }
})

/** The line that a start prints to stderr; undefined when it is not refused. */
function findProblem(environment: Record<string, string>): string | undefined {
  try {
    planRuntime(sourcesOf(environment))
    return undefined
  } catch (error) {
    return StartupError.is(error) ? error.summary : String(error)
  }
}

type Case = [given: Record<string, string>, settings: string[], words: RegExp]

const upstreamCases: Case[] = [
  [{ UPSTREAM_CERT_FILE: shortKey }, ['UPSTREAM_CERT_FILE'], /too short/],
  [{ UPSTREAM_CA_BUNDLE_FILE: missing }, ['UPSTREAM_CA_BUNDLE_FILE'], /readable file/],
  [{ UPSTREAM_CA_BUNDLE_FILE: join(folder, 'directory.pem') }, ['UPSTREAM_CA_BUNDLE_FILE'], /readable file/],
  [{ UPSTREAM_CA_BUNDLE_FILE: pipe }, ['UPSTREAM_CA_BUNDLE_FILE'], /readable file/],
  [{ UPSTREAM_CA_BUNDLE_FILE: noPem }, ['UPSTREAM_CA_BUNDLE_FILE'], /certificates in PEM form/],
  [{ UPSTREAM_CA_BUNDLE_FILE: broken }, ['UPSTREAM_CA_BUNDLE_FILE'], /certificates in PEM form/],
  [{ UPSTREAM_CA_BUNDLE_FILE: key }, ['UPSTREAM_CA_BUNDLE_FILE'], /certificates in PEM form/],
  [{ UPSTREAM_CERT_FILE: missing, UPSTREAM_KEY_FILE: key }, ['UPSTREAM_CERT_FILE'], /readable file/],
  [{ UPSTREAM_CERT_FILE: noPem, UPSTREAM_KEY_FILE: key }, ['UPSTREAM_CERT_FILE'], /certificate in PEM form/],
  [{ UPSTREAM_CERT_FILE: cert }, ['UPSTREAM_CERT_FILE'], /private key in PEM form/],
  [{ UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: missing }, ['UPSTREAM_KEY_FILE'], /readable file/],
  [{ UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: noPem }, ['UPSTREAM_KEY_FILE'], /private key in PEM form/],
  [{ UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: other }, ['UPSTREAM_KEY_FILE'], /key of the certificate/],
  [{ UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: locked }, ['UPSTREAM_KEY_FILE_PASSWORD'], /password of/],
  [
    { UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: locked, UPSTREAM_KEY_FILE_PASSWORD: 'hunter2-wrong' },
    ['UPSTREAM_KEY_FILE_PASSWORD'],
    /password of/
  ],
  [
    { UPSTREAM_CA_BUNDLE_FILE: noPem, UPSTREAM_CERT_FILE: noPem },
    ['UPSTREAM_CA_BUNDLE_FILE', 'UPSTREAM_CERT_FILE'],
    /;/
  ]
]

const https = (httpsKey: string, httpsCert: string) => ({
  GATEWAY_USE_HTTPS: 'true',
  GATEWAY_HTTPS_KEY_FILE: httpsKey,
  GATEWAY_HTTPS_CERT_FILE: httpsCert
})

const httpsCases: Case[] = [
  [
    { GATEWAY_USE_HTTPS: 'true' },
    ['GATEWAY_HTTPS_KEY_FILE', 'GATEWAY_HTTPS_CERT_FILE'],
    /must be set when GATEWAY_USE_HTTPS is on/
  ],
  [https(missing, cert), ['GATEWAY_HTTPS_KEY_FILE'], /readable file/],
  [https(key, missing), ['GATEWAY_HTTPS_CERT_FILE'], /readable file/],
  [https(cert, cert), ['GATEWAY_HTTPS_KEY_FILE'], /private key in PEM form/],
  [https(key, key), ['GATEWAY_HTTPS_CERT_FILE'], /certificate in PEM form/],
  [https(other, cert), ['GATEWAY_HTTPS_KEY_FILE'], /key of the certificate/],
  [https(locked, cert), ['GATEWAY_HTTPS_KEY_FILE'], /needs no password/]
]

t.test('a TLS file that cannot be used stops the start and the preflight with the name of its setting', async t => {
  for (const [environment, settings, words] of [...upstreamCases, ...httpsCases]) {
    const problem = findProblem(environment)
    t.match(problem, words)
    t.match(problem, new RegExp(`^invalid_profile_schema: [^\\n]*${settings.join('[^\\n]*')}[^\\n]*$`))
    const { output, exitCode } = inspectConfiguration(sourcesOf(environment))
    t.equal(exitCode, 2)
    t.same(
      [...new Set(JSON.parse(output).error.details.map((detail: { setting: string }) => detail.setting))],
      settings
    )
    t.notMatch(`${problem}${output}`, /hunter2|BEGIN/, 'neither path nor content nor password is shown')
  }
})

t.test('files that belong together are accepted', async t => {
  const fine: Array<Record<string, string>> = [
    { UPSTREAM_CA_BUNDLE_FILE: authority },
    { UPSTREAM_CA_BUNDLE_FILE: chain },
    { UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: key },
    { UPSTREAM_CERT_FILE: chain, UPSTREAM_KEY_FILE: key },
    { UPSTREAM_CERT_FILE: combined },
    { UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: locked, UPSTREAM_KEY_FILE_PASSWORD: 'hunter2' },
    https(key, cert),
    https(key, chain)
  ]
  for (const environment of fine) t.equal(findProblem(environment), undefined)
})

t.test('files that are not used are not read', async t => {
  t.equal(findProblem({ GATEWAY_HTTPS_KEY_FILE: missing, GATEWAY_HTTPS_CERT_FILE: missing }), undefined)
  const { warnings, exitCode } = inspectConfiguration(sourcesOf({ UPSTREAM_KEY_FILE: missing }))
  t.equal(exitCode, 0)
  t.match(warnings, [/UPSTREAM_KEY_FILE is not used/])
})
