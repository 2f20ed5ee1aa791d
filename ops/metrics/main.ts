// Writes everything that is made from the definitions of the metric series: Prometheus rules with their tests, the Grafana dashboard, the
// table of the guide. `npx node ops/metrics/main.ts`.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderDashboard } from './dashboard.ts'
import { replaceTables } from './guide-tables.ts'
import { renderRules, renderRuleTests, renderScrapeConfig } from './prometheus-files.ts'

const ops = join(import.meta.dirname, '..')
const RULES_FILE = 'gateway.rules.yml'

/** Every generated file with its text; `path` is below `ops`. */
export function renderFiles(): Array<{ path: string; text: string }> {
  return [
    { path: 'prometheus/prometheus.yml', text: renderScrapeConfig(RULES_FILE) },
    { path: `prometheus/${RULES_FILE}`, text: renderRules() },
    // Helm reads nothing outside the chart.
    { path: `kubernetes/chart/files/${RULES_FILE}`, text: renderRules() },
    { path: 'prometheus/gateway.rules.test.yml', text: renderRuleTests(RULES_FILE) },
    { path: 'grafana/llm-gateway.json', text: `${JSON.stringify(renderDashboard(), null, 2)}\n` },
    { path: 'guides/metrics.md', text: replaceTables(readFileSync(join(ops, 'guides', 'metrics.md'), 'utf8')) }
  ]
}

if (import.meta.main) for (const { path, text } of renderFiles()) writeFileSync(join(ops, path), text)
