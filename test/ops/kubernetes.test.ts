// The plain manifests and the schema of the chart's values, without Helm and without a cluster. The test of the chart checks them with the
// oldest Kubernetes as well.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { manifests } from '../../ops/kubernetes/render.ts'
import {
  checkManifests,
  findGateway,
  findPod,
  findSchemaErrors,
  type Manifest,
  parseManifests,
  planStart,
  secretNames
} from '../support/kubernetes.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const folder = join(import.meta.dirname, '../../ops/kubernetes')
const read = (path: string) => readFileSync(join(folder, path), 'utf8')
const { version } = JSON.parse(read('../../package.json'))

/** Texts of secrets that must have a form. */
const texts = {
  GATEWAY_LIMITS_REDIS_URL: 'redis://127.0.0.1:6379',
  GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: 'postgres://127.0.0.1/records',
  UPSTREAM_CREDENTIALS: 'Y2xpZW50OnNlY3JldA=='
}

for (const name of Object.keys(manifests)) {
  t.test(`${name} is what Kubernetes accepts and the gateway starts with`, async t => {
    const documents = parseManifests(read(`manifests/${name}`))
    checkManifests(t, documents, ['1.37'])
    const plan = planStart(documents, createTemporaryFolder(t), texts)
    t.strictSame(plan.warnings, [])
    t.equal(plan.settings.mode, 'PROD')
    const pod = findPod(documents)
    if (pod === undefined) throw new Error('There is no pod.')
    t.equal(findGateway(pod).image, `llm-gateway:${version}`)
  })
}

t.test('every plain manifest is one that the script renders', async t => {
  t.strictSame(globSync('*', { cwd: join(folder, 'manifests') }).sort(), Object.keys(manifests).sort())
})

t.test('a pod serves while it is taken out of the balancers, and the probes ask for what they are for', async t => {
  const pod = findPod(parseManifests(read('manifests/gateway.yaml')))
  if (pod === undefined) throw new Error('There is no pod.')
  const gateway = findGateway(pod)
  t.equal(pod.terminationGracePeriodSeconds, 25 + 5 + 10)
  t.match(gateway, {
    startupProbe: { httpGet: { path: '/health', port: 'http' }, periodSeconds: 2, failureThreshold: 30 },
    readinessProbe: { httpGet: { path: '/ready', port: 'http' } },
    livenessProbe: { httpGet: { path: '/health', port: 'http' } }
  })
})

t.test('the sidecar starts before the application, listens on loopback alone, and needs no shell', async t => {
  const pod = findPod(parseManifests(read('manifests/sidecar.yaml')))
  const [gateway] = pod?.initContainers ?? []
  t.match(gateway, { name: 'llm-gateway', restartPolicy: 'Always' })
  t.match(gateway?.env, [{ name: 'GATEWAY_HOST', value: '127.0.0.1' }])
  t.match(gateway?.startupProbe, { exec: { command: ['node', '/app/dist/ops/container/health.js'] } })
  t.equal(gateway?.readinessProbe, undefined, 'the application is ready or not')
  t.strictSame(
    pod?.containers.map(({ name }) => name),
    ['agent']
  )
})

t.test('the schemas of Kubernetes refuse what they do not know', async t => {
  const [deployment] = parseManifests(read('manifests/gateway.yaml')).filter(({ kind }) => kind === 'Deployment')
  const wrong: Manifest = structuredClone(deployment as Manifest)
  Object.assign(wrong.spec?.template?.spec ?? {}, { terminationGracePeriodSecond: 1, volumes: 'none' })
  const errors = findSchemaErrors(wrong, '1.37').join('\n')
  t.match(errors, /1\.37 .*terminationGracePeriodSecond"/)
  t.match(errors, /1\.37 .*\/volumes must be array/)
})

t.test('the version of the chart is that of the package', async t => {
  const chart = parse(read('chart/Chart.yaml'))
  t.strictSame([chart.version, chart.appVersion], [version, version])
})

const schema = JSON.parse(read('chart/values.schema.json'))
const validate = new Ajv({ strict: false }).compile(schema)
const defaults = parse(read('chart/values.yaml'))

/** Merges values into the defaults as Helm does. */
function merge(values: Record<string, unknown>, base: Record<string, unknown> = defaults): Record<string, unknown> {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const merged = Object.entries(values).map(([name, value]) => {
    const below = base[name]
    return [name, isObject(value) && isObject(below) ? merge(value, below) : value]
  })
  return { ...base, ...Object.fromEntries(merged) }
}

t.test('the schema of the values knows every default and accepts the example values', async t => {
  t.ok(validate(defaults), JSON.stringify(validate.errors))
  t.strictSame(
    Object.keys(defaults).filter(name => schema.properties[name] === undefined),
    []
  )
  for (const file of globSync('values/*.yaml', { cwd: folder })) {
    t.ok(validate(merge(parse(read(file)))), `${file} ${JSON.stringify(validate.errors)}`)
  }
})

const digest = 'a'.repeat(64)
const accepted: Array<[string, Record<string, unknown>]> = [
  ['a drain of an hour', { drain: { seconds: 3600 } }],
  ['a digest instead of a tag', { image: { digest: `sha256:${digest}` } }],
  ['a setting as number or boolean', { settings: { GATEWAY_WORKERS: 4, GATEWAY_ACCESS_LOG: true } }],
  ['a proxy', { settings: { HTTPS_PROXY: 'http://proxy.internal:3128' } }],
  ['a removed secret', { secrets: { UPSTREAM_CREDENTIALS: null } }],
  ['a credential of a provider by reference', { secrets: { OPENAI_API_KEY: { name: 'providers', key: 'openai' } } }],
  ['a keys file in a Secret', { keys: { existingSecret: 'gateway-keys' } }],
  ['a claim for the state', { stateVolume: { persistentVolumeClaim: { claimName: 'gateway' } } }],
  ['metrics on the port of clients', { metrics: { port: 0 } }],
  ['a variable from a field', { extraEnv: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }],
  ['a share of pods that may be missing', { podDisruptionBudget: { maxUnavailable: '25%' } }]
]
const refused: Array<[string, Record<string, unknown>]> = [
  ['an unknown value', { replicaCount: 2 }],
  ['an unknown member', { drain: { timeout: 3 } }],
  ['another mode', { mode: 'daemonset' }],
  ['a drain without end', { drain: { seconds: 3601 } }],
  ['no drain', { drain: { seconds: 0 } }],
  ['a margin below what closing takes', { drain: { marginSeconds: 1 } }],
  ['replicas as text', { replicas: 'two' }],
  ['a digest that is none', { image: { digest: 'sha256:abc' } }],
  ['a setting of another program', { settings: { PATH: '/bin' } }],
  ['a setting that other values decide', { settings: { GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: 300 } }],
  ['a proxy with a password', { settings: { HTTPS_PROXY: 'http://user:word@proxy.internal:3128' } }],
  ['a list for a setting', { settings: { GATEWAY_CORS_ALLOW_ORIGINS: ['https://app.example'] } }],
  ['a secret as text', { secrets: { OPENAI_API_KEY: 'sk-123' } }],
  ['a secret with a value', { secrets: { OPENAI_API_KEY: { name: 'a', key: 'b', value: 'sk-123' } } }],
  ['a secret without its key', { secrets: { OPENAI_API_KEY: { name: 'a' } } }],
  ['a secret that is a file already', { secrets: { OPENAI_API_KEY_FILE: { name: 'a', key: 'b' } } }],
  ['two sources of a file', { keys: { existingSecret: 'a', existingConfigMap: 'b' } }],
  ['a file and its content', { profile: { existingConfigMap: 'a', content: { schema_version: 'x' } } }],
  ['a variable with a secret', { extraEnv: [{ name: 'OPENAI_API_KEY', value: 'sk-123' }] }],
  ['a variable without a value', { extraEnv: [{ name: 'POD' }] }],
  ['TLS of a sidecar', { mode: 'sidecar', tls: { existingSecret: 'certificate' } }],
  ['a sidecar that scales', { mode: 'sidecar', autoscaling: { enabled: true } }],
  ['a port below 1024 for a user without rights', { metrics: { port: 80 } }],
  ['two volumes for the state', { stateVolume: { emptyDir: {}, hostPath: { path: '/' } } }]
]

t.test('the schema of the values accepts what is right and refuses what is wrong', async t => {
  for (const [name, values] of accepted) t.ok(validate(merge(values)), `${name} ${JSON.stringify(validate.errors)}`)
  for (const [name, values] of refused) t.notOk(validate(merge(values)), name)
})

t.test('the chart takes no secret setting as a value, in any spelling', async t => {
  t.ok(secretNames.length > 10)
  for (const name of secretNames) {
    t.notOk(validate(merge({ settings: { [name]: 'x' } })), name)
    t.notOk(validate(merge({ extraEnv: [{ name, value: 'x' }] })), name)
  }
})
