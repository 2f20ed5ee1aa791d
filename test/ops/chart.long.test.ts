// The Helm chart, linted and rendered over a table of values, with every Helm that is there: `.ci/run` installs Helm 3 and 4.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { type ManifestName, manifests, renderChart, renderManifest } from '../../ops/kubernetes/render.ts'
import {
  type Container,
  checkManifests,
  findGateway,
  findPod,
  type Manifest,
  parseManifests,
  readVariable
} from '../support/kubernetes.ts'
import { findProgram, whyWithoutProgram } from '../support/programs.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const folder = join(import.meta.dirname, '../../ops/kubernetes')
const chart = join(folder, 'chart')
const OPERATOR = ['--api-versions', 'monitoring.coreos.com/v1']
const APPLICATION = { containers: [{ name: 'app', image: 'app:1' }] }

interface Rendering {
  name: string
  values: object
  parameters?: string[]
  /** Kinds that are rendered besides, and those that are not, of those that the defaults have. */
  more?: string[]
  fewer?: string[]
  check?(t: Test, manifests: Manifest[]): void
}

/** As the guide shows it. */
const APPLICATION_TEMPLATE = `apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      enableServiceLinks: false
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 40
      initContainers:
        {{- include "llm-gateway.sidecar" (index .Subcharts "llm-gateway") | nindent 8 }}
      containers:
        - {name: app, image: "app:1"}
      volumes:
        {{- include "llm-gateway.volumes" (index .Subcharts "llm-gateway") | nindent 8 }}
`

const KINDS = ['Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service', 'ServiceAccount']

const table: Rendering[] = [
  { name: 'defaults', values: {} },
  {
    name: 'a long drain with fractions',
    values: { drain: { seconds: 1799.5, readinessGraceSeconds: 0.4, marginSeconds: 30 } },
    check: (t, all) => t.equal(findPod(all)?.terminationGracePeriodSeconds, 1830)
  },
  { name: 'an hour', values: { drain: { seconds: 3600, readinessGraceSeconds: 60, marginSeconds: 10 } } },
  { name: 'autoscaling', values: { autoscaling: { enabled: true } }, more: ['HorizontalPodAutoscaler'] },
  {
    name: 'no budget and no policy',
    values: { podDisruptionBudget: { enabled: false }, networkPolicy: { enabled: false } },
    fewer: ['PodDisruptionBudget', 'NetworkPolicy']
  },
  {
    name: 'an account that exists',
    values: { serviceAccount: { create: false, name: 'own' } },
    fewer: ['ServiceAccount']
  },
  {
    name: 'the Prometheus operator',
    values: { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true } },
    parameters: OPERATOR,
    more: ['ServiceMonitor', 'PrometheusRule']
  },
  { name: 'no Prometheus operator', values: { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true } } },
  {
    name: 'metrics on the port of clients',
    values: { metrics: { port: 0 }, serviceMonitor: { enabled: true } },
    parameters: OPERATOR,
    more: ['ServiceMonitor']
  },
  {
    name: 'no metrics',
    values: { metrics: { enabled: false }, serviceMonitor: { enabled: true } },
    parameters: OPERATOR
  },
  {
    name: 'TLS',
    values: { tls: { existingSecret: 'certificate' }, listenAddress: '::' },
    check: (t, all) => {
      const gateway = gatewayOf(all)
      t.equal(readVariable(gateway, 'GATEWAY_HTTPS_KEY_FILE'), '/etc/llm-gateway/tls/tls.key')
      t.match(gateway.readinessProbe, { httpGet: { scheme: 'HTTPS' } })
    }
  },
  {
    name: 'files that exist',
    values: {
      profile: { existingConfigMap: 'profile', key: 'p.json' },
      keys: { existingSecret: 'keys' },
      prices: { existingConfigMap: 'prices' }
    }
  },
  { name: 'no secrets', values: { secrets: { GATEWAY_API_KEY: null, UPSTREAM_CREDENTIALS: null } } },
  {
    name: 'names, labels and places',
    values: {
      fullnameOverride: 'edge',
      podLabels: { team: 'a' },
      podAnnotations: { note: '1' },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ operator: 'Exists' }],
      affinity: { podAntiAffinity: {} },
      priorityClassName: 'high',
      imagePullSecrets: [{ name: 'registry' }]
    }
  },
  {
    name: 'further variables and volumes',
    values: {
      extraEnv: [
        { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'FURTHER', value: 12_345_678 }
      ],
      extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
      extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca' }],
      stateVolume: { persistentVolumeClaim: { claimName: 'state' } }
    },
    check: (t, all) => {
      const gateway = gatewayOf(all)
      t.equal(readVariable(gateway, 'FURTHER'), '12345678')
      t.match(gateway.env.find(({ name }) => name === 'POD')?.valueFrom, { fieldRef: { fieldPath: 'metadata.name' } })
    }
  },
  {
    name: 'numbers and truths of settings',
    values: {
      settings: {
        GATEWAY_MAX_REQUEST_BODY_BYTES: 20_971_520,
        GATEWAY_TRAFFIC_LOG_SAMPLE_RATE: 0.000001,
        GATEWAY_ACCESS_LOG: true
      }
    },
    check: (t, all) => {
      const gateway = gatewayOf(all)
      t.equal(readVariable(gateway, 'GATEWAY_MAX_REQUEST_BODY_BYTES'), '20971520')
      t.equal(readVariable(gateway, 'GATEWAY_TRAFFIC_LOG_SAMPLE_RATE'), '0.000001')
      t.equal(readVariable(gateway, 'GATEWAY_ACCESS_LOG'), 'true')
    }
  },
  {
    name: 'rules of the network',
    values: {
      networkPolicy: {
        ingressFrom: [{ podSelector: {} }],
        metricsFrom: [{ namespaceSelector: {} }],
        egress: [{ ports: [{ port: 443 }] }]
      }
    }
  },
  {
    name: 'a sidecar',
    values: { mode: 'sidecar', sidecar: APPLICATION },
    fewer: ['Service', 'PodDisruptionBudget', 'NetworkPolicy']
  },
  { name: 'a sidecar of another chart', values: { mode: 'sidecar' }, fewer: KINDS }
]

t.test('the oldest and the newest Kubernetes accept the plain manifests', async t => {
  for (const name of Object.keys(manifests)) {
    checkManifests(t, parseManifests(readFileSync(join(folder, 'manifests', name), 'utf8')))
  }
})

for (const generation of ['helm3', 'helm4']) {
  t.test(generation, { skip: whyWithoutProgram(generation) }, async t => {
    const helm = findProgram(generation)
    const temporary = createTemporaryFolder(t)

    t.test('finds nothing to say against the chart', async t => {
      const output = execFileSync(helm, ['lint', '--strict', '--kube-version', '1.34', chart], { encoding: 'utf8' })
      t.match(output, '1 chart(s) linted, 0 chart(s) failed')
    })

    t.test('the plain manifests are what it renders', async t => {
      for (const name of Object.keys(manifests) as ManifestName[]) {
        const expected = renderManifest(helm, name)
        const isFresh = readFileSync(join(folder, 'manifests', name), 'utf8') === expected
        t.ok(isFresh, `run "node ops/kubernetes/render.ts" to update ${name}`)
      }
    })

    for (const { name, values, parameters = [], more = [], fewer = [], check } of table) {
      t.test(`renders ${name}`, async t => {
        const file = join(temporary, 'values.yaml')
        writeFileSync(file, stringify(values))
        const all = parseManifests(renderChart(helm, ['--values', file, ...parameters]))
        checkManifests(t, all)
        const expected = [...KINDS, ...more].filter(kind => !fewer.includes(kind))
        t.strictSame([...new Set(all.map(({ kind }) => kind))].sort(), expected.sort())
        check?.(t, all)
      })
    }

    t.test('refuses wrong values, and an address with a password in a profile', async t => {
      const refuse = (values: object) => {
        const file = join(temporary, 'wrong.yaml')
        writeFileSync(file, stringify(values))
        try {
          renderChart(helm, ['--values', file])
        } catch (error) {
          return String((error as { stderr: unknown }).stderr)
        }
        return ''
      }
      t.match(refuse({ replicaCount: 3 }), /additional properties 'replicaCount' not allowed/)
      t.match(refuse({ settings: { GATEWAY_API_KEY: 'x' } }), /GATEWAY_API_KEY/)
      t.match(refuse({ drain: { seconds: 0 } }), /seconds/)
      t.match(refuse({ metrics: { port: 8090 } }), /metrics\.port is 8090, the port of clients/)
      t.match(
        refuse({ autoscaling: { enabled: true }, resources: { requests: null } }),
        /needs resources\.requests\.cpu/
      )
      t.match(refuse({ autoscaling: { enabled: true, minReplicas: 11 } }), /minReplicas is more/)
      t.match(
        refuse({ profile: { content: { proxy: 'http://user:word@proxy:3128' } } }),
        /profile\.content has an address/
      )
    })

    t.test('the named templates fit into the chart of an application', async t => {
      const parent = join(temporary, 'application')
      writeParent(parent)
      const all = parseManifests(
        execFileSync(helm, ['template', 'app', parent, '--kube-version', '1.34'], { encoding: 'utf8' })
      )
      checkManifests(t, all)
      t.match(findPod(all), {
        initContainers: [{ name: 'llm-gateway', restartPolicy: 'Always' }],
        containers: [{ name: 'app' }]
      })
    })
  })
}

function gatewayOf(all: readonly Manifest[]): Container {
  const pod = findPod(all)
  if (pod === undefined) throw new Error('There is no pod.')
  return findGateway(pod)
}

function writeParent(parent: string): void {
  mkdirSync(join(parent, 'templates'), { recursive: true })
  mkdirSync(join(parent, 'charts'))
  cpSync(chart, join(parent, 'charts/llm-gateway'), { recursive: true })
  const values = { 'llm-gateway': { mode: 'sidecar', settings: { GATEWAY_WORKERS: 1 } } }
  writeFileSync(join(parent, 'Chart.yaml'), stringify({ apiVersion: 'v2', name: 'application', version: '1.0.0' }))
  writeFileSync(join(parent, 'values.yaml'), stringify(values))
  writeFileSync(join(parent, 'templates/deployment.yaml'), APPLICATION_TEMPLATE)
}
