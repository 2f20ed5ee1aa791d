// Reads Kubernetes manifests, and checks what must hold for every one of them, whichever values it was rendered with.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { settingNames, settingsTable } from '../../shared/settings/table.ts'
import { planRuntime, type RuntimePlan } from '../../supervisor/plan/runtime-plan.ts'

/** The oldest version that the chart installs on, and the newest known one. */
export const KUBERNETES_VERSIONS = ['1.29', '1.37'] as const
export type KubernetesVersion = (typeof KUBERNETES_VERSIONS)[number]
/** Secret settings in every spelling. */
export const secretNames: readonly string[] = settingNames
  .filter(name => settingsTable[name].isSecret)
  .flatMap(name => [name, ...settingsTable[name].aliases])

interface Variable {
  name: string
  value?: string
  valueFrom?: object
}

export interface Container {
  name: string
  restartPolicy?: string
  env: Variable[]
  ports?: Array<{ name: string; containerPort: number }>
  volumeMounts: Array<{ name: string; mountPath: string }>
  securityContext: object
  [probe: string]: unknown
}

interface Volume {
  name: string
  projected?: { sources: Array<{ secret: { name: string; items: Array<{ key: string; path: string }> } }> }
  configMap?: { name: string; items: Array<{ key: string; path: string }> }
  secret?: { secretName: string }
}

interface PodSpec {
  terminationGracePeriodSeconds: number
  enableServiceLinks: boolean
  automountServiceAccountToken: boolean
  initContainers?: Container[]
  containers: Container[]
  volumes: Volume[]
}

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; labels: Record<string, string> }
  data?: Record<string, string>
  // The members of a `spec` depend on the kind; the schemas check them.
  spec?: Record<string, unknown> & {
    selector?: { matchLabels?: Record<string, string> } & Record<string, unknown>
    template?: { metadata: { labels: Record<string, string>; annotations: Record<string, string> }; spec: PodSpec }
    podSelector?: { matchLabels?: Record<string, string> }
    ports?: Array<{ targetPort: string }>
  }
}

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map(document => {
      if (document.errors.length > 0) throw document.errors[0]
      return document.toJS()
    })
    .filter(document => document !== null)
}

const validators = new Map<KubernetesVersion, Ajv2020>()

function findValidator(version: KubernetesVersion): Ajv2020 {
  const known = validators.get(version)
  if (known !== undefined) return known
  const file = join(import.meta.dirname, '../fixtures/schemas', `kubernetes-${version}.json`)
  // Formats such as int32 and byte are those of Kubernetes.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  ajv.addSchema(JSON.parse(readFileSync(file, 'utf8')), 'kubernetes')
  validators.set(version, ajv)
  return ajv
}

const GROUPS: Readonly<Record<string, string>> = {
  v1: 'core.v1',
  'apps/v1': 'apps.v1',
  'autoscaling/v2': 'autoscaling.v2',
  'networking.k8s.io/v1': 'networking.v1',
  'policy/v1': 'policy.v1'
}

/** What the schema of a version of Kubernetes says against a manifest: unknown members too. */
export function findSchemaErrors(manifest: Manifest, version: KubernetesVersion): string[] {
  const { apiVersion, kind } = manifest
  const validate = findValidator(version).getSchema(`kubernetes#/$defs/io.k8s.api.${GROUPS[apiVersion]}.${kind}`)
  if (validate === undefined) return [`${version} has no ${kind} of ${apiVersion}`]
  if (validate(manifest)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${version} ${kind}${instancePath} ${message} ${JSON.stringify(params)}`
  )
}

export function findPod(manifests: readonly Manifest[]): PodSpec | undefined {
  return manifests.find(({ kind }) => kind === 'Deployment')?.spec?.template?.spec
}

export function findGateway({ initContainers = [], containers }: PodSpec): Container {
  const found = [...initContainers, ...containers].find(({ name }) => name === 'llm-gateway')
  if (found === undefined) throw new Error('The pod has no gateway.')
  return found
}

export function readVariable({ env }: Container, name: string): string | undefined {
  return env.find(variable => variable.name === name)?.value
}

/** Checks what must hold for all values. */
export function checkManifests(
  t: Test,
  manifests: readonly Manifest[],
  versions: readonly KubernetesVersion[] = KUBERNETES_VERSIONS
): void {
  const builtIn = manifests.filter(({ apiVersion }) => GROUPS[apiVersion] !== undefined)
  t.strictSame(
    builtIn.flatMap(manifest => versions.flatMap(version => findSchemaErrors(manifest, version))),
    [],
    'the schemas of Kubernetes'
  )
  t.notOk(
    manifests.some(({ kind }) => kind === 'Secret'),
    'no secret is made'
  )
  t.notMatch(JSON.stringify(manifests), /:\/\/[^/\s@:"]*:[^/\s@"]+@/, 'no address has a password')
  const pod = findPod(manifests)
  if (pod === undefined) return
  const gateway = findGateway(pod)
  checkVariables(t, gateway)
  const drain = Number(readVariable(gateway, 'GATEWAY_SHUTDOWN_TIMEOUT_SECONDS'))
  const grace = Number(readVariable(gateway, 'GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS'))
  t.ok(pod.terminationGracePeriodSeconds >= drain + grace + 10, 'the kubelet waits for the whole stop')
  t.equal(pod.enableServiceLinks, false)
  t.equal(pod.automountServiceAccountToken, false)
  t.match(gateway.securityContext, {
    runAsNonRoot: true,
    runAsUser: 10001,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' }
  })
  const volumes = pod.volumes.map(({ name }) => name)
  t.equal(new Set(volumes).size, volumes.length, 'each volume has its own name')
  t.strictSame(
    gateway.volumeMounts.map(({ name }) => name).filter(name => !volumes.includes(name)),
    [],
    'each mount has a volume'
  )
  checkReferences(t, manifests, gateway)
}

function checkVariables(t: Test, { env }: Container): void {
  const names = env.map(({ name }) => name)
  t.equal(new Set(names).size, names.length, 'each variable is set once')
  const settings = names.filter(name => /^(?:GATEWAY|UPSTREAM)_/.test(name)).map(name => name.replace(/_FILE$/, ''))
  const known = new Set<string>(settingNames.map(name => name.replace(/_FILE$/, '')))
  t.strictSame(
    settings.filter(name => !known.has(name)),
    [],
    'each setting is a row of the table'
  )
  t.strictSame(
    env.filter(({ name, value }) => value !== undefined && secretNames.includes(name)),
    [],
    'no secret has a value'
  )
}

/** Selectors, ports and ConfigMaps lead to something. */
function checkReferences(t: Test, manifests: readonly Manifest[], gateway: Container): void {
  const template = manifests.find(({ kind }) => kind === 'Deployment')?.spec?.template
  const labels = template?.metadata.labels ?? {}
  const ports = (gateway.ports ?? []).map(({ name }) => name)
  const names = new Set(manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`))
  t.equal(names.size, manifests.length, 'each object has its own name')
  for (const { kind, metadata, spec } of manifests) {
    if (spec === undefined || kind === 'ServiceMonitor') continue
    const { matchLabels } = spec.selector ?? spec.podSelector ?? {}
    const selected = matchLabels ?? (kind === 'Service' ? spec.selector : undefined)
    if (selected !== undefined) t.match(labels, selected, `${kind} ${metadata.name} selects it`)
    for (const { targetPort } of kind === 'Service' ? (spec.ports ?? []) : []) t.ok(ports.includes(targetPort))
  }
}

/** Plans a start with the variables and files of the gateway's container; secrets hold `texts` or a word of their own. */
export function planStart(
  manifests: readonly Manifest[],
  folder: string,
  texts: Readonly<Record<string, string>> = {}
): RuntimePlan {
  const pod = findPod(manifests)
  if (pod === undefined) throw new Error('There is no pod.')
  const gateway = findGateway(pod)
  const write = (path: string, text: string) => {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { mode: 0o600 })
  }
  for (const { name, mountPath } of gateway.volumeMounts) {
    const { projected, configMap } = pod.volumes.find(volume => volume.name === name) ?? {}
    for (const { secret } of projected?.sources ?? []) {
      for (const { path, key } of secret.items) write(join(mountPath, path), texts[path] ?? `the-secret-of-${key}`)
    }
    const content = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMap?.name)
    for (const { key, path } of configMap?.items ?? []) write(join(mountPath, path), content?.data?.[key] ?? '')
  }
  const environment = Object.fromEntries(
    gateway.env.map(({ name, value }) => [
      name,
      value?.replace(/^\/etc\/llm-gateway/, join(folder, '/etc/llm-gateway'))
    ])
  )
  return planRuntime({ environment, options: { variables: {}, isDemo: false } })
}
