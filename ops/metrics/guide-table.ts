// The table of all series in the guide to metrics.

import { type MetricDefinition, metricDefinitions } from '../../shared/metrics/definitions.ts'

const START = '<!-- series:start -->'
const END = '<!-- series:end -->'

/** A row for each series, in the order of a scrape. */
export function renderSeriesTable(): string {
  const rows = Object.entries<MetricDefinition>(metricDefinitions).map(([name, { type, labels, help }]) => {
    const shown = labels.map(label => `\`${label}\``).join(', ')
    return `| \`${name}\` | ${type} | ${shown} | ${help} |`
  })
  return ['| Series | Type | Labels | Meaning |', '|---|---|---|---|', ...rows].join('\n')
}

/** Puts the table between the markers of a text. Raises an error for a text without them. */
export function replaceSeriesTable(text: string): string {
  const start = text.indexOf(START)
  const end = text.indexOf(END)
  if (start < 0 || end < start) throw new Error(`The guide has no ${START} and ${END} markers.`)
  return `${text.slice(0, start + START.length)}\n${renderSeriesTable()}\n${text.slice(end)}`
}
