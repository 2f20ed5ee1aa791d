// Reads the metrics of a started gateway.

export interface ScrapedSample {
  name: string
  labels: Record<string, string>
  value: number
}

export interface Scrape {
  text: string
  samples: ScrapedSample[]
  /** The sum of the samples that have these labels; undefined when there is none. */
  value(name: string, labels?: Record<string, string>): number | undefined
}

/** Scrapes the text form. Rejects when the gateway refuses. */
export async function scrape(gateway: { url: string }, path = '/metrics'): Promise<Scrape> {
  const response = await fetch(gateway.url + path, { headers: { connection: 'close' } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`The scrape got ${response.status}: ${text}`)
  const samples = text
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(readSample)
  return {
    text,
    samples,
    value(name, labels = {}) {
      const wanted = Object.entries(labels)
      const found = samples.filter(
        one => one.name === name && wanted.every(([label, value]) => one.labels[label] === value)
      )
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
    }
  }
}

function readSample(line: string): ScrapedSample {
  const [, name = '', labels = '', value = ''] = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  if (name === '') throw new Error(`This is no sample: ${line}`)
  const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text] as const)
  return { name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value) }
}
