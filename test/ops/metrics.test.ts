// The Prometheus and Grafana files: generated, and about nothing but what the gateway exports.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { rows } from '../../ops/metrics/dashboard.ts'
import { findNames, quantile, rate, select, TARGET_LABELS } from '../../ops/metrics/expressions.ts'
import { renderFiles } from '../../ops/metrics/main.ts'
import { alertRules, recordingRules } from '../../ops/metrics/rules.ts'
import { LABEL_NAMES, metricDefinitions, metricNames } from '../../shared/metrics/definitions.ts'

const root = join(import.meta.dirname, '..', '..')
const ops = join(root, 'ops')

t.test('the committed files are those that the definitions give', async t => {
  for (const { path, text } of renderFiles()) {
    t.equal(readFileSync(join(ops, path), 'utf8'), text, `run "npx node ops/metrics/main.ts" to update ${path}`)
  }
})

const expressions = [
  ...rows.flatMap(row => row.panels.flatMap(panel => panel.queries.map(({ expr }) => expr))),
  ...recordingRules.map(({ expr }) => expr),
  ...alertRules.map(({ expr }) => expr)
]

t.test('expressions name only series and labels of the definitions, and rules that are recorded', async t => {
  const recorded = new Set(recordingRules.map(({ record }) => record))
  const labels = new Set<string>([...LABEL_NAMES, ...TARGET_LABELS, 'le'])
  for (const expression of expressions) {
    t.ok(
      findNames(expression).every(name => name in metricDefinitions),
      expression
    )
    const records = [...expression.matchAll(/gateway:[a-z0-9_:]+/g)].map(([name]) => name)
    t.ok(
      records.every(name => recorded.has(name)),
      expression
    )
    const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(
      ([, names]) => names?.split(', ') ?? []
    )
    const matched = [...expression.matchAll(/[{,] ?([a-z_]+)(?:=|!)/g)].map(([, name]) => name ?? '')
    t.ok(
      [...grouped, ...matched].every(name => labels.has(name)),
      expression
    )
  }
})

t.test('no expression takes the 0 of a series without a sample for a time', async t => {
  const timed = expressions.filter(expression => /_timestamp_seconds/.test(expression))
  t.ok(timed.length >= 5)
  for (const expression of timed) t.match(expression, ' > 0', expression)
})

t.test('every series is on the dashboard or has a reason not to be', async t => {
  const shown = new Set(rows.flatMap(row => row.panels.flatMap(panel => panel.queries.flatMap(q => findNames(q.expr)))))
  const unshown = metricNames.filter(name => !shown.has(name))
  // The first byte of a stream is the first token's next of kin, and its head is sent early.
  t.strictSame(unshown, ['gateway_time_to_first_byte_seconds'])
})

t.test('an expression with a label that its series does not have is refused', async t => {
  t.throws(() => rate('gateway_requests_total', '5m', { by: ['model'] }), /gateway_requests_total has no label model/)
  t.throws(() => select('gateway_ready', { route: '="/"' }), /gateway_ready has no label route/)
  t.throws(() => quantile(0.5, 'gateway_gc_pause_seconds', '5m', { by: ['provider'] }), /no label provider/)
})

t.test('every alert has a severity, a summary and a runbook, and a name of its own', async t => {
  t.equal(new Set(alertRules.map(({ alert }) => alert)).size, alertRules.length)
  for (const { alert, summary, runbook } of alertRules) {
    t.match(summary, /\.$/, alert)
    t.ok(runbook.length > summary.length, alert)
  }
})
