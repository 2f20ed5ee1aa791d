// Reads the text of a scrape strictly: what a scraper might tolerate is an error here
// (operations.md 7.1).

export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly samples: MetricSample[]
}

export interface MetricSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** The text after ` # `, in OpenMetrics only. */
  readonly exemplar: string | undefined
}

export class MetricsText {
  readonly families: readonly MetricFamily[]

  constructor(families: readonly MetricFamily[]) {
    this.families = families
  }

  family(name: string): MetricFamily {
    const found = this.families.find(family => family.name === name)
    if (found === undefined) throw new Error(`The scrape has no series ${name}.`)
    return found
  }

  /** The samples of this name that have at least these labels. */
  samples(name: string, labels: Record<string, string> = {}): MetricSample[] {
    const all = this.families.flatMap(family => family.samples).filter(sample => sample.name === name)
    return all.filter(sample => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
  }

  /** The sum of these samples. */
  sum(name: string, labels: Record<string, string> = {}): number {
    return this.samples(name, labels).reduce((sum, { value }) => sum + value, 0)
  }
}

const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y
const SAMPLE =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^\n]*?)\})? ([+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf))(?: # (\{.*\} \S+ \S+))?$/
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count']
}
const OPEN_SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total', '_created'],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count', '_created']
}

/** Reads a scrape. Throws an `Error` that says what is wrong with it. */
export function readMetricsText(text: string, format: 'text' | 'openmetrics' = 'text'): MetricsText {
  if (!text.endsWith('\n')) fail('does not end with a newline')
  const lines = text.slice(0, -1).split('\n')
  if (format === 'openmetrics' && lines.pop() !== '# EOF') fail('does not end with # EOF')
  const families: MetricFamily[] = []
  for (let index = 0; index < lines.length; ) {
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*)$/.exec(lines[index] ?? '')
    const type = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$/.exec(lines[index + 1] ?? '')
    if (help === null || type === null || help[1] !== type[1]) fail(`expects HELP and TYPE at ${lines[index]}`)
    const family = { name: help[1] ?? '', help: help[2] ?? '', type: type[2] ?? '', samples: [] as MetricSample[] }
    if (families.some(({ name }) => name === family.name)) fail(`repeats ${family.name}`)
    families.push(family)
    for (index += 2; index < lines.length && !lines[index]?.startsWith('# '); index += 1) {
      family.samples.push(readSample(lines[index] ?? ''))
    }
    checkFamily(family, format === 'text' ? SUFFIXES : OPEN_SUFFIXES)
  }
  return new MetricsText(families)
}

function readSample(line: string): MetricSample {
  const match = SAMPLE.exec(line)
  if (match === null) fail(`has an unreadable line: ${line}`)
  const labels: Record<string, string> = {}
  const text = match[2] ?? ''
  LABEL.lastIndex = 0
  while (LABEL.lastIndex < text.length) {
    const label = LABEL.exec(text)
    if (label?.[1] === undefined || label[1] in labels) fail(`has unreadable labels: ${line}`)
    labels[label[1]] = (label[2] ?? '').replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
    if (LABEL.lastIndex === 0) break
  }
  const digits = (match[3] ?? '')
    .replace(/^[+-]|e.*$/g, '')
    .replace('.', '')
    .replace(/^0+/, '')
  if (match[3]?.includes('.') === true && digits.length > 12) fail(`has more than 12 significant digits: ${line}`)
  const value = match[3] === '+Inf' ? Number.POSITIVE_INFINITY : Number(match[3])
  return { name: match[1] ?? '', labels, value, exemplar: match[4] }
}

function checkFamily({ name, type, samples }: MetricFamily, suffixes: typeof SUFFIXES): void {
  if (samples.length === 0) fail(`has no sample of ${name}`)
  const seen = new Set<string>()
  const keys: string[] = []
  for (const { name: sampleName, labels } of samples) {
    const { le, ...others } = labels
    const names = Object.keys(labels)
    if (suffixes[type]?.some(suffix => name + suffix === sampleName) !== true) fail(`has ${sampleName} below ${name}`)
    if (!isSorted(Object.keys(others))) fail(`has unsorted labels of ${sampleName}`)
    if (le !== undefined && names.at(-1) !== 'le') fail(`has le not last in ${sampleName}`)
    if ((le !== undefined) !== sampleName.endsWith('_bucket')) fail(`has a wrong le in ${sampleName}`)
    const id = `${sampleName} ${JSON.stringify(labels)}`
    if (seen.has(id)) fail(`repeats ${id}`)
    seen.add(id)
    const key = Object.entries(others).flat().join('\x01')
    if (keys.at(-1) !== key) keys.push(key)
  }
  if (new Set(keys).size !== keys.length) fail(`interleaves the samples of ${name}`)
  if (!isSorted(keys)) fail(`has unsorted samples of ${name}`)
  if (type === 'histogram') checkHistogram(name, samples)
}

function checkHistogram(name: string, samples: readonly MetricSample[]): void {
  let count = 0
  let bound = Number.NEGATIVE_INFINITY
  for (const sample of samples) {
    const { le } = sample.labels
    if (sample.name === `${name}_count` && sample.value !== count) fail(`has a count that differs from +Inf in ${name}`)
    if (le === undefined) continue
    const next = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
    if (bound === Number.POSITIVE_INFINITY) [count, bound] = [0, Number.NEGATIVE_INFINITY]
    if (!(next > bound) || sample.value < count) fail(`has buckets that do not grow in ${name}`)
    ;[count, bound] = [sample.value, next]
  }
}

function isSorted(texts: readonly string[]): boolean {
  return texts.every((text, index) => index === 0 || (texts[index - 1] ?? '') <= text)
}

function fail(what: string): never {
  throw new Error(`The text of the metrics ${what}`)
}
