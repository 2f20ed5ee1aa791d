// The two texts that a scrape can ask for (operations.md 7.1 and 7.5).

export const METRICS_FORMATS = ['text', 'openmetrics'] as const
export type MetricsFormat = (typeof METRICS_FORMATS)[number]

export const METRICS_CONTENT_TYPES: Readonly<Record<MetricsFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8'
}

/** OpenMetrics where the `accept` header prefers it, or wants it as much as plain text; else plain text. */
export function chooseMetricsFormat(accept: string | undefined): MetricsFormat {
  let text = 0
  let openMetrics = 0
  for (const range of (accept ?? '').split(',')) {
    const [type, ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    const quality = readQuality(parameters)
    if (type === 'application/openmetrics-text' && isVersionOne(parameters))
      openMetrics = Math.max(openMetrics, quality)
    else if (type === 'text/plain') text = Math.max(text, quality)
  }
  return openMetrics > 0 && openMetrics >= text ? 'openmetrics' : 'text'
}

function readQuality(parameters: readonly string[]): number {
  const given = parameters.find(parameter => parameter.startsWith('q='))
  const quality = given === undefined ? 1 : Number(given.slice(2))
  return quality >= 0 && quality <= 1 ? quality : 0
}

function isVersionOne(parameters: readonly string[]): boolean {
  const version = parameters.find(parameter => parameter.startsWith('version='))
  return version === undefined || version === 'version=1.0.0'
}
