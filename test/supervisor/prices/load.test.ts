// The rules of a prices file, each with the place that is named when it is broken (keys.md 4).
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { pricesSchemaFile, renderPricesSchema } from '../../../ops/docs/prices-schema.ts'
import { StartupError } from '../../../shared/startup-error.ts'
import { inspectConfiguration } from '../../../supervisor/preflight.ts'
import { loadPrices } from '../../../supervisor/prices/load.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const folder = createTemporaryFolder(t)

function write(content: unknown): string {
  const path = join(folder, typeof content === 'string' ? 'prices.yaml' : 'prices.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

function placesOf(content: unknown): string | undefined {
  try {
    loadPrices(write(content))
  } catch (error) {
    if (!StartupError.is(error)) throw error
    t.equal(error.code, 'invalid_prices_file')
    return error.location
  }
  return undefined
}

const file = (models: unknown, more: object = {}) => ({ schema_version: 'gateway.prices.v1', models, ...more })
const price = { input: 1, output: 2 }

t.test('keys 17: a file is read, and what it leaves out stays absent', async t => {
  const text = `schema_version: gateway.prices.v1
currency: EUR
models:
  demo/chat: {input: 2.5, output: 10, cache_read: 0.25, cache_write: 3.125, reasoning: 12}
  "*": {input: 0, output: 0}`
  t.same(loadPrices(write(text)), {
    currency: 'EUR',
    models: {
      'demo/chat': { input: 2.5, output: 10, cacheRead: 0.25, cacheWrite: 3.125, reasoning: 12 },
      '*': { input: 0, output: 0 }
    }
  })
  t.equal(loadPrices(write(file({}))).currency, undefined)
})

t.test('each wrong member is named by its place', async t => {
  const rows: Array<[content: unknown, place: RegExp]> = [
    [file({ a: price }, { schema_version: 'gateway.prices.v2' }), /^schema_version: /],
    [file({ a: price }, { currency: 'euro' }), /^currency: must be a code of ISO 4217$/],
    [file(undefined), /^models: /],
    [file({ a: { input: 1 } }), /^models\.a\.output: /],
    [file({ a: { input: -1, output: 1 } }), /^models\.a\.input: /],
    [file({ a: { ...price, cache_read: null } }), /^models\.a\.cache_read: /],
    [file({ a: { ...price, audio: 1 } }), /^models\.a: has an unknown member$/],
    [file({ 'a*b': price }), /^models: the name of a model must be /],
    [file({ a: price }, { hunter2: 1 }), /^the top level: has an unknown member$/]
  ]
  for (const [content, place] of rows) t.match(placesOf(content), place)
  t.equal(placesOf('schema_version: gateway.prices.v1\nmodels:\n  a: {input: 1, input: 2, output: 1}'), 'line 3')
})

t.test('keys 17: a start without readable prices ends with 2', async t => {
  const inspect = (variables: Record<string, string>) =>
    inspectConfiguration({ environment: {}, options: { variables, isDemo: false } })
  const missing = inspect({ GATEWAY_PRICES_FILE: join(folder, 'missing.yaml') })
  t.equal(missing.exitCode, 2)
  t.match(JSON.parse(missing.output), {
    error: { code: 'invalid_prices_file', message: 'Prices file cannot be read.' }
  })
  const wrong = inspect({ GATEWAY_PRICES_FILE: write(file({ a: {} })) })
  t.match(wrong.warnings, [
    'Prices file does not match the required schema.',
    /^The problem is in the prices file: models\.a\.input: /
  ])
  t.equal(inspect({ GATEWAY_PRICES_FILE: write(file({ a: price })) }).exitCode, 0)
})

t.test('keys 17: budgets need a price, and costs and budgets have one currency', async t => {
  const keys = (more: object) => {
    const path = join(folder, 'keys.json')
    const limits = { budget: { amount: 5, period: 'month' } }
    const entry = { name: 'ci', secrets: [{ sha256: 'a'.repeat(64) }], limits }
    writeFileSync(path, JSON.stringify({ schema_version: 'gateway.keys.v1', keys: [entry], ...more }))
    return path
  }
  const inspect = (variables: Record<string, string>, more: object = {}) =>
    inspectConfiguration({
      environment: {},
      options: {
        variables: {
          GATEWAY_KEYS_FILE: keys(more),
          GATEWAY_RESPONSES_STORE_DSN: `sqlite:${join(folder, 'store.sqlite')}`,
          ...variables
        },
        isDemo: false
      }
    })
  t.match(JSON.parse(inspect({}).output), { error: { code: 'budget_without_prices' } })
  const empty = inspect({ GATEWAY_PRICES_FILE: write(file({})) })
  t.match(JSON.parse(empty.output), { error: { code: 'budget_without_prices' } })
  const GATEWAY_PRICES_FILE = write(file({ a: price }, { currency: 'EUR' }))
  t.equal(inspect({ GATEWAY_PRICES_FILE }).exitCode, 0, 'the currency of the prices is that of the budgets')
  t.equal(inspect({ GATEWAY_PRICES_FILE }, { currency: 'EUR' }).exitCode, 0)
  const other = inspect({ GATEWAY_PRICES_FILE }, { currency: 'USD' })
  t.equal(other.exitCode, 2)
  t.equal(other.warnings.at(-1), 'The problem is in the keys file: currency: must be the currency of the prices')
})

t.test('the example passes the schema for editors, which is what its script writes', async t => {
  const text = readFileSync(pricesSchemaFile, 'utf8')
  t.ok(text === renderPricesSchema(), 'run: node ops/docs/prices-schema.ts')
  const example = join(import.meta.dirname, '../../../ops/examples/prices.yaml')
  const validate = new Ajv({ strict: false }).compile(JSON.parse(text))
  t.ok(validate(parse(readFileSync(example, 'utf8'))))
  t.ok(Object.keys(loadPrices(example).models).length > 3)
})
