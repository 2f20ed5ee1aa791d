// The tables in the guide to metrics: all series and all alerts.

import { type MetricDefinition, metricDefinitions } from '../../shared/metrics/definitions.ts'
import { alertRules } from './rules.ts'

/** Puts the tables between their markers in a text. Raises an error for a text without the markers. */
export function replaceTables(text: string): string {
  return replaceBetween(replaceBetween(text, 'series', renderSeries()), 'alerts', renderAlerts())
}

/** A row for each series, in the order of a scrape. */
function renderSeries(): string {
  const rows = Object.entries<MetricDefinition>(metricDefinitions).map(([name, { type, labels, help }]) => {
    const shown = labels.map(label => `\`${label}\``).join(', ')
    return `| \`${name}\` | ${type} | ${shown} | ${help} |`
  })
  return ['| Series | Type | Labels | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}

function renderAlerts(): string {
  const rows = alertRules.map(
    ({ alert, severity, summary, runbook }) => `| \`${alert}\` | ${severity} | ${summary} | ${runbook} |`
  )
  return ['| Alert | Severity | When | What to do |', '|---|---|---|---|', ...rows].join('\n')
}

function replaceBetween(text: string, name: string, table: string): string {
  const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`]
  const from = text.indexOf(start)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`The guide has no ${start} and ${end} markers.`)
  return `${text.slice(0, from + start.length)}\n\n${table}\n\n${text.slice(to)}`
}
