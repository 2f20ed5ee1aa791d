// The rules of a keys file, each with the place that is named when it is broken (keys.md 1).
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseSettings } from '../../../shared/settings.ts'
import { StartupError } from '../../../shared/startup-error.ts'
import { type KeysContext, loadKeys } from '../../../supervisor/keys/load.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')
/** In every secret of these tests: it may be in no output. */
const CANARY = 'canary-hunter2'
const SECRET = `${CANARY}-secret-1`
const key = { name: 'ci', secrets: [{ env: 'CI_KEY' }] }
const folder = createTemporaryFolder(t)

interface Surroundings extends Partial<Omit<KeysContext, 'lookup' | 'settings'>> {
  readonly environment?: Record<string, string>
  readonly settings?: Record<string, string>
}

function load(content: unknown, { environment = { CI_KEY: SECRET }, settings = {}, ...rest }: Surroundings = {}) {
  const path = join(folder, typeof content === 'string' ? 'keys.yaml' : 'keys.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return loadKeys(path, {
    lookup: name => environment[name],
    settings: parseSettings(settings),
    hasDurableCounter: true,
    hasPrices: true,
    ...rest
  })
}

const file = (members: Record<string, unknown>) => ({ schema_version: 'gateway.keys.v1', keys: [key], ...members })
const oneKey = (members: Record<string, unknown>) => file({ keys: [{ ...key, ...members }] })

function refusalOf(content: unknown, surroundings?: Surroundings): StartupError {
  try {
    load(content, surroundings)
  } catch (error) {
    if (StartupError.is(error)) return error
    throw error
  }
  throw new Error('The file was not refused.')
}

function expectPlaces(t: Test, content: unknown, places: string, surroundings?: Surroundings): void {
  const error = refusalOf(content, surroundings)
  t.equal(error.location, places)
  t.notMatch(`${error.summary} ${JSON.stringify(error)}`, CANARY)
}

t.test('keys 1: the whole file of the reference is read, its secrets as digests alone', async t => {
  writeFileSync(join(folder, 'secret'), `${CANARY}-in-a-file\n`)
  const text = `
schema_version: gateway.keys.v1
currency: EUR
groups:
  team-a:
    models: ["openai/*", "demo/chat"]
    limits: {requests_per_minute: 600, tokens_per_minute: 200000, concurrent_requests: 40,
             budget: {amount: 500, period: month}}
keys:
  - name: ci
    group: team-a
    secrets:
      - {env: CI_KEY}
      - {file: ${join(folder, 'secret')}}
    models: ["demo/*"]
    expires_at: 2027-01-31T00:00:00Z
    enabled: true
    limits: {requests_per_minute: 60}
    metadata: {owner: build}
  - name: other
    secrets: [{sha256: "${digestOf('x').toUpperCase()}"}]
    enabled: no
`
  const { keys, secretFiles, variableNames } = load(text)
  t.same(keys, {
    revision: keys.revision,
    currency: 'EUR',
    groups: [
      {
        name: 'team-a',
        models: ['openai/*', 'demo/chat'],
        limits: {
          requestsPerMinute: 600,
          tokensPerMinute: 200_000,
          concurrentRequests: 40,
          budget: { amount: 500, period: 'month' }
        }
      }
    ],
    keys: [
      {
        name: 'ci',
        group: 'team-a',
        digests: [digestOf(SECRET), digestOf(`${CANARY}-in-a-file`)],
        models: ['demo/*'],
        limits: { requestsPerMinute: 60 },
        expiresAtMs: Date.UTC(2027, 0, 31),
        isEnabled: true,
        metadata: { owner: 'build' }
      },
      { name: 'other', digests: [digestOf('x')], limits: {}, isEnabled: false, metadata: {} }
    ]
  })
  t.match(keys.revision, /^sha256:[0-9a-f]{64}$/)
  t.same(secretFiles, [join(folder, 'secret')])
  t.same(variableNames, ['CI_KEY', 'CI_KEY_FILE'])
  t.notMatch(JSON.stringify({ keys, secretFiles, variableNames }), CANARY)
})

t.test('keys 1: a variable may name a file instead, and the default currency is USD', async t => {
  writeFileSync(join(folder, 'from-variable'), `${SECRET}\r\n`)
  const environment = { CI_KEY_FILE: join(folder, 'from-variable') }
  const { keys, secretFiles } = load(file({}), { environment })
  t.equal(keys.currency, 'USD')
  t.same(keys.keys[0]?.digests, [digestOf(SECRET)])
  t.same(secretFiles, [environment.CI_KEY_FILE])
})

t.test('keys 14: the text of the file is read by the rules of profile files', async t => {
  const texts: Array<[text: string, message: string, location?: string]> = [
    ['schema_version: gateway.keys.v1\nkeys:\n  - name: a\n    name: b\n', 'Keys file is malformed.', 'line 3'],
    ['keys: &a [*a]', 'Keys file is malformed.', 'line 1'],
    ['keys: [', 'Keys file is malformed.', 'line 1'],
    ['keys: !!js/function x', 'Keys file is malformed.', 'line 1'],
    [`#${' '.repeat(1_048_576)}`, 'Keys file exceeds the size limit.']
  ]
  for (const [text, message, location] of texts) {
    const error = refusalOf(text)
    t.match(error, { code: 'invalid_keys_file', message, location })
  }
  const context = { lookup: () => undefined, settings: parseSettings({}), hasDurableCounter: true, hasPrices: true }
  t.throws(() => loadKeys(join(folder, 'missing.yaml'), context), { message: 'Keys file cannot be read.' })
  mkdirSync(join(folder, 'folder.yaml'))
  t.throws(() => loadKeys(join(folder, 'folder.yaml'), context), { message: 'Keys file must be readable UTF-8.' })
  t.throws(() => loadKeys(join(folder, 'keys.txt'), context), { code: 'invalid_keys_file' })
})

t.test('keys 14: each wrong member is named by its place, all of them at once', async t => {
  const NAME = 'must be 1 to 64 of a-z, 0-9, ".", "_" and "-", with a letter or a digit first and last'
  const MODEL = 'must be the name of a model, or the beginning of names and a "*" at the end'
  const FORMS = 'must have exactly one of env, file, sha256'
  const TWO = 'must be a list of 1 or 2 secrets'
  const TIME = 'must be a time such as 2027-01-31T00:00:00Z'
  const WHOLE = 'must be a whole number above 0'
  const AMOUNT = 'must be a number above 0 and at most 9000000'
  const limits = (members: object) => oneKey({ limits: members })
  const secrets = (...list: unknown[]) => oneKey({ secrets: list })
  const cases: Array<[content: unknown, places: string]> = [
    [null, 'the top level: must be a map of members'],
    [file({ schema_version: 'gateway.keys.v2' }), 'schema_version: must be gateway.keys.v1'],
    [{ keys: [key] }, 'schema_version: is missing'],
    [file({ [CANARY]: 1 }), 'the top level: has an unknown member'],
    [file({ currency: 'usd' }), 'currency: must be a code of ISO 4217'],
    [file({ keys: undefined }), 'keys: is missing'],
    [file({ keys: [] }), 'keys: must have a key'],
    [file({ keys: { ci: key } }), 'keys: must be a list of keys'],
    [file({ keys: ['ci'] }), 'keys[0]: must be a map of members'],
    [file({ groups: [] }), 'groups: must be a map of groups'],
    [file({ groups: { [CANARY.toUpperCase()]: {} } }), `groups: the name of a member ${NAME}`],
    [file({ groups: JSON.parse('{"__proto__": {}}') }), 'groups: must be a map of groups'],
    [file({ groups: { a: { secrets: [] } } }), 'groups.a: has an unknown member'],
    [file({ groups: { a: { limits: { requests: 1 } } } }), 'groups.a.limits: has an unknown member'],
    [file({ groups: { a: { models: [] } } }), 'groups.a.models: must name a model'],
    [oneKey({ name: undefined }), 'keys[0].name: is missing'],
    [oneKey({ name: 'CI' }), `keys[0].name: ${NAME}`],
    [oneKey({ name: '-ci' }), `keys[0].name: ${NAME}`],
    [oneKey({ name: 'c'.repeat(65) }), `keys[0].name: ${NAME}`],
    [oneKey({ name: 7 }), `keys[0].name: ${NAME}`],
    [oneKey({ owner: CANARY }), 'keys[0]: has an unknown member'],
    [oneKey({ secrets: undefined }), 'keys[0].secrets: is missing'],
    [secrets(), `keys[0].secrets: ${TWO}`],
    [secrets({ env: 'A' }, { env: 'B' }, { env: 'C' }), `keys[0].secrets: ${TWO}`],
    [secrets({}), `keys[0].secrets[0]: ${FORMS}`],
    [secrets({ env: 'A', file: 'b' }), `keys[0].secrets[0]: ${FORMS}`],
    [secrets(CANARY), 'keys[0].secrets[0]: must be a map of members'],
    [secrets({ text: CANARY }), `keys[0].secrets[0]: has an unknown member; keys[0].secrets[0]: ${FORMS}`],
    [secrets({ env: 'ci-key' }), 'keys[0].secrets[0].env: must be the name of a variable, in capital letters'],
    [secrets({ file: '' }), 'keys[0].secrets[0].file: must be the path of a file'],
    [secrets({ sha256: CANARY }), 'keys[0].secrets[0].sha256: must be 64 hexadecimal digits in quotes'],
    [secrets({ sha256: 1e63 }), 'keys[0].secrets[0].sha256: must be 64 hexadecimal digits in quotes'],
    [oneKey({ models: ['a*b'] }), `keys[0].models[0]: ${MODEL}`],
    [oneKey({ models: ['a', ''] }), `keys[0].models[1]: ${MODEL}`],
    [oneKey({ models: ['a b'] }), `keys[0].models[0]: ${MODEL}`],
    [oneKey({ models: 'a' }), 'keys[0].models: must be a list of models'],
    [oneKey({ expires_at: '2027-02-31T00:00:00Z' }), `keys[0].expires_at: ${TIME}`],
    [oneKey({ expires_at: '2027-01-31' }), `keys[0].expires_at: ${TIME}`],
    [oneKey({ expires_at: null }), `keys[0].expires_at: ${TIME}`],
    [oneKey({ enabled: 'yes' }), 'keys[0].enabled: must be true or false'],
    [oneKey({ metadata: { [CANARY]: 1 } }), 'keys[0].metadata: must be a text'],
    [oneKey({ metadata: [] }), 'keys[0].metadata: must be a map of texts'],
    [limits({ requests_per_minute: 0 }), `keys[0].limits.requests_per_minute: ${WHOLE}`],
    [limits({ tokens_per_minute: 1.5 }), `keys[0].limits.tokens_per_minute: ${WHOLE}`],
    [limits({ concurrent_requests: '4' }), `keys[0].limits.concurrent_requests: ${WHOLE}`],
    [limits({ requests_per_minute: null }), `keys[0].limits.requests_per_minute: ${WHOLE}`],
    [limits({ budget: { amount: 0, period: 'day' } }), `keys[0].limits.budget.amount: ${AMOUNT}`],
    [limits({ budget: { amount: 1e9, period: 'day' } }), `keys[0].limits.budget.amount: ${AMOUNT}`],
    [
      limits({ budget: { amount: 1, period: 'year' } }),
      'keys[0].limits.budget.period: must be one of day, week, month, total'
    ],
    [limits({ budget: { amount: 1 } }), 'keys[0].limits.budget.period: is missing'],
    [limits({ budget: 5 }), 'keys[0].limits.budget: must be a map of members'],
    [
      file({ currency: 5, keys: [{ ...key, name: 'A', enabled: 1 }] }),
      `currency: must be a code of ISO 4217; keys[0].name: ${NAME}; keys[0].enabled: must be true or false`
    ]
  ]
  for (const [content, places] of cases) {
    expectPlaces(t, content, places)
    t.equal(refusalOf(content).code, 'invalid_keys_file')
  }
  const many = refusalOf(file({ keys: Array.from({ length: 30 }, () => ({ ...key, name: 'A' })) }))
  t.match(many.location, /; and 10 more$/)
})

t.test('keys 14: names are unique, also among the keys of the settings, and groups exist', async t => {
  const digest = (text: string) => ({ sha256: digestOf(text) })
  const twice = file({
    keys: [
      { name: 'a', secrets: [digest('1')] },
      { name: 'a', secrets: [digest('2')], group: 'none' }
    ]
  })
  expectPlaces(t, twice, 'keys[1].name: is the name of another key; keys[1].group: is no group of the file')
  const settings = { GATEWAY_API_KEYS: '{"next":"k2"}' }
  for (const name of ['default', 'next']) {
    expectPlaces(t, oneKey({ name }), 'keys[0].name: is the name of a key of the settings', { settings })
  }
  expectPlaces(t, oneKey({ group: 'constructor' }), 'keys[0].group: is no group of the file')
})

t.test('keys 14: a secret that is missing, short or not visible is named by its place and variable', async t => {
  const code = 'key_secret_unavailable'
  writeFileSync(join(folder, 'short'), `${CANARY}\n`)
  writeFileSync(join(folder, 'lines'), `${CANARY}\n${CANARY}`)
  writeFileSync(join(folder, 'empty'), '\n')
  const ofFile = (name: string) => oneKey({ secrets: [{ file: join(folder, name) }] })
  const cases: Array<[content: unknown, environment: Record<string, string>, problem: string]> = [
    [file({}), {}, 'neither CI_KEY nor CI_KEY_FILE is set'],
    [file({}), { CI_KEY: SECRET, CI_KEY_FILE: 'x' }, 'CI_KEY and CI_KEY_FILE must not both be set'],
    [file({}), { CI_KEY_FILE: join(folder, 'missing') }, 'CI_KEY_FILE must name a readable file'],
    [file({}), { CI_KEY_FILE: folder }, 'CI_KEY_FILE must name a readable file'],
    [file({}), { CI_KEY_FILE: join(folder, 'empty') }, 'CI_KEY_FILE must name a file that is not empty'],
    [file({}), { CI_KEY: CANARY }, 'the value of CI_KEY must have at least 16 characters'],
    [file({}), { CI_KEY: `${SECRET} ` }, 'the value of CI_KEY must have visible ASCII characters alone'],
    [file({}), { CI_KEY: `${SECRET}-ключ` }, 'the value of CI_KEY must have visible ASCII characters alone'],
    [ofFile('missing'), {}, 'file must name a readable file'],
    [ofFile('.'), {}, 'file must name a readable file'],
    [ofFile('short'), {}, 'the content of the file must have at least 16 characters'],
    [ofFile('lines'), {}, 'the content of the file must have visible ASCII characters alone'],
    [ofFile('empty'), {}, 'the content of the file must have at least 16 characters']
  ]
  for (const [content, environment, problem] of cases) {
    expectPlaces(t, content, `keys[0].secrets[0]: ${problem}`, { environment })
    t.equal(refusalOf(content, { environment }).code, code)
  }
  t.equal(load(file({}), { environment: { CI_KEY: 'x'.repeat(16) } }).keys.keys.length, 1)
})

t.test('keys 14: a secret is unique over all keys, those of the settings included', async t => {
  const other = { name: 'other', secrets: [{ sha256: digestOf(SECRET) }] }
  expectPlaces(t, file({ keys: [key, other] }), 'keys[1].secrets[0]: is the secret of another entry')
  const repeated = oneKey({ secrets: [{ env: 'CI_KEY' }, { sha256: digestOf(SECRET) }] })
  expectPlaces(t, repeated, 'keys[0].secrets[1]: is the secret of another entry')
  for (const settings of [
    { GATEWAY_API_KEY: SECRET },
    { GATEWAY_ADMIN_API_KEY: SECRET },
    { GATEWAY_API_KEYS: JSON.stringify({ a: SECRET }) }
  ]) {
    expectPlaces(t, file({}), 'keys[0].secrets[0]: is the secret of a key of the settings', { settings })
  }
})

t.test('keys 14: a budget needs a durable counter and prices', async t => {
  const limits = { budget: { amount: 0.5, period: 'total' } }
  const content = file({ groups: { a: { limits } }, keys: [{ ...key, limits }] })
  for (const [surroundings, code] of [
    [{ hasDurableCounter: false, hasPrices: false }, 'budget_without_store'],
    [{ hasPrices: false }, 'budget_without_prices']
  ] as const) {
    expectPlaces(t, content, 'groups.a.limits.budget; keys[0].limits.budget', surroundings)
    t.equal(refusalOf(content, surroundings).code, code)
    t.doesNotThrow(() => load(oneKey({ limits: { requests_per_minute: 1 } }), surroundings))
  }
  t.doesNotThrow(() => load(content))
})

t.test('keys 15: the revision is that of the content without secrets, and equal for every notation', async t => {
  const b = { name: 'b', secrets: [{ sha256: digestOf('b') }], expires_at: '2027-01-31T02:00:00+02:00' }
  const base = file({ groups: { a: {} }, keys: [{ ...key, enabled: true }, b] })
  const { revision } = load(base).keys
  const same: unknown[] = [
    file({ currency: 'USD', groups: { a: {} }, keys: [b, key] }),
    file({ groups: { a: {} }, keys: [key, { ...b, secrets: [{ sha256: digestOf('c') }] }] }),
    `{schema_version: gateway.keys.v1, groups: {a: {}}, keys: [{name: ci, secrets: [{env: CI_KEY}]},
      {name: b, secrets: [{sha256: "${digestOf('b')}"}], expires_at: 2027-01-31T00:00:00Z}]}`
  ]
  for (const content of same) t.equal(load(content).keys.revision, revision)
  t.equal(load(base, { environment: { CI_KEY: `${SECRET}-rotated` } }).keys.revision, revision)
  const others: unknown[] = [
    file({ groups: { a: {} }, keys: [key] }),
    file({ currency: 'EUR', groups: { a: {} }, keys: [key, b] }),
    file({ groups: { a: { limits: { requests_per_minute: 1 } } }, keys: [key, b] }),
    file({ groups: { a: {} }, keys: [{ ...key, metadata: { owner: 'x' } }, b] })
  ]
  const revisions = others.map(content => load(content).keys.revision)
  t.equal(new Set([revision, ...revisions]).size, others.length + 1)
})
