// A real Prometheus scrapes a gateway: without a warning, and with values for every query of the dashboard.

import { join } from 'node:path'
import t from 'tap'
import { rows } from '../../ops/metrics/dashboard.ts'
import { findNames } from '../../ops/metrics/expressions.ts'
import { alertRules, JOB, recordingRules } from '../../ops/metrics/rules.ts'
import { metricNames } from '../../shared/metrics/definitions.ts'
import { get } from '../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../support/gateway.ts'
import { readMetricsText } from '../support/metrics-text.ts'
import { waitUntil } from '../support/processes.ts'
import { findProgram, whyWithout } from '../support/programs.ts'
import { type StartedPrometheus, startPrometheus } from '../support/prometheus.ts'
import { createTrafficFiles, trafficVariables } from '../support/recorded-gateway.ts'
import { createTemporaryFolder } from '../support/temporary.ts'
import { askIn, families, model, openStream } from './system/support.ts'

const API_KEY = 'prometheus-test-key'
const RULES = join(import.meta.dirname, '../../ops/prometheus/gateway.rules.yml')
const DEADLINE_MS = 120_000

const queries = rows.flatMap(row =>
  row.panels.flatMap(panel => panel.queries.map(({ expr, legend }) => ({ title: `${panel.title}: ${legend}`, expr })))
)

/** A gateway has one relational sink at a time, and this one has no search server, and no TLS towards clients and upstream. */
const WITHOUT_VALUE: ReadonlySet<string> = new Set([
  'Certificate of the gateway ends in: the first one',
  'Certificates of providers end in: {{provider}}',
  'Certificates for providers end in: {{provider}}',
  'Duration of a write, p95: postgres',
  'Duration of a write, p95: opensearch'
])

/** What Grafana fills in. */
function fillIn(expression: string): string {
  return expression.replaceAll('$__rate_interval', '1m').replaceAll('$job', JOB).replaceAll('$instance', '.*')
}

async function hasValue(prometheus: StartedPrometheus, expression: string): Promise<boolean> {
  const { result } = await prometheus.read(`query?query=${encodeURIComponent(expression)}`)
  return result.some(({ value }: { value: [number, string] }) => Number.isFinite(Number(value[1])))
}

t.test(
  'a real Prometheus scrapes a gateway without a warning and answers the queries of the dashboard with values',
  { skip: whyWithout('prometheus') },
  async t => {
    const emulator = await startEmulator(t)
    const gateway = await startGateway(t, {
      env: {
        ...emulatorVariables(emulator),
        ...trafficVariables(createTrafficFiles(t)),
        GATEWAY_METRICS_ENABLED: 'true',
        // Waits for reads and writes have values only where responses are stored and continued.
        GATEWAY_RESPONSES_STORE_DSN: `sqlite:${join(createTemporaryFolder(t), 'responses.db')}`,
        GATEWAY_ENABLE_API_KEY_AUTH: 'true',
        GATEWAY_API_KEY: API_KEY,
        GATEWAY_WORKERS: '2',
        GATEWAY_POOL_THREADS: '1',
        GATEWAY_POOL_THRESHOLD_BYTES: '20000',
        GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [model]: 50 })
      }
    })
    const target = new URL(gateway.url).host
    const prometheus = await startPrometheus(t, { job: JOB, target, apiKey: API_KEY, rules: RULES })
    const headers = { authorization: `Bearer ${API_KEY}` }

    /** A request of every kind that the dashboard tells apart. */
    async function makeTraffic(): Promise<void> {
      for (const family of families) {
        await askIn(gateway, family, 'hello there', { headers })
        await askIn(gateway, family, '[[len:20]][[tick:2]]', { headers, stream: true })
      }
      const stored = await askIn(gateway, 'responses', 'hello there', { headers })
      await get(`${gateway.url}/responses/${stored.json.id}`, headers)
      await askIn(gateway, 'completions', 'large '.repeat(20_000), { headers })
      await askIn(gateway, 'completions', '[[error:503]]', { headers })
      await askIn(gateway, 'completions', '[[error:429]]', { headers })
      await askIn(gateway, 'completions', 'no key')
      const controller = new AbortController()
      await openStream(gateway, 'messages', '[[tick:20]][[len:500]]', { headers, signal: controller.signal })
      controller.abort()
    }

    const answered = queries.filter(({ title }) => !WITHOUT_VALUE.has(title))
    t.equal(queries.length - answered.length, WITHOUT_VALUE.size)
    const waiting = new Map(answered.map(query => [query.title, fillIn(query.expr)]))
    await waitUntil(
      async () => {
        await makeTraffic()
        for (const [title, expression] of waiting) {
          if (await hasValue(prometheus, expression)) waiting.delete(title)
        }
        return waiting.size === 0
      },
      'every query has a value',
      DEADLINE_MS
    ).catch((error: Error) => {
      throw new Error(`${error.message} Without a value: ${[...waiting.keys()].join(', ')}`)
    })
    t.pass('every query has a value')

    const { activeTargets } = await prometheus.read('targets')
    t.match(activeTargets, [{ health: 'up', lastError: '', labels: { job: JOB } }])
    t.equal(activeTargets.length, 1)

    const { groups } = await prometheus.read('rules')
    // biome-ignore lint/suspicious/noExplicitAny: see `read`.
    const rules = groups.flatMap((group: any) => group.rules)
    t.equal(rules.length, alertRules.length + recordingRules.length)
    for (const rule of rules) t.match(rule, { health: 'ok' }, rule.name)

    const scraped = await fetch(`${gateway.url}/metrics`, { headers })
    const text = await scraped.text()
    const exported = readMetricsText(text).families.map(({ name }) => name)
    t.strictSame(exported, [...metricNames])
    const named = [...queries, ...recordingRules, ...alertRules].flatMap(({ expr }) => findNames(expr))
    t.ok(named.every(name => exported.includes(name)))
    const known: string[] = await prometheus.read('label/__name__/values')
    const missing = exported.filter(name => !known.includes(name) && !known.includes(`${name}_bucket`))
    t.strictSame(missing, [], 'Prometheus has every series')
    t.strictSame(prometheus.complaints, [])
  }
)

t.test('promtool finds nothing to complain about in a scrape', { skip: whyWithout('promtool') }, async t => {
  const emulator = await startEmulator(t)
  const gateway = await startGateway(t, {
    env: { ...emulatorVariables(emulator), GATEWAY_METRICS_ENABLED: 'true' }
  })
  await askIn(gateway, 'completions', 'hello')
  const text = await (await fetch(`${gateway.url}/metrics`)).text()
  const { execa } = await import('execa')
  const checked = await execa(findProgram('promtool'), ['check', 'metrics'], { input: text, reject: false })
  t.equal(checked.exitCode, 0, checked.stdout + checked.stderr)
})
