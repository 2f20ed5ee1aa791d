import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { Secret } from '../../shared/secrets/secret.ts'
import { settingNames, settingsTable } from '../../shared/settings/table.ts'
import {
  isAuthRequired,
  parseSettings,
  resolveEnvironment,
  SettingsError,
  settingPath,
  settingsFrom
} from '../../shared/settings.ts'
import * as fc from '../support/properties.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

function issuesOf(environment: Record<string, string>): string[] {
  try {
    parseSettings(environment)
  } catch (error) {
    if (error instanceof SettingsError) return error.issues.map(issue => issue.setting)
    throw error
  }
  return []
}

t.test('an empty environment gives every default', async t => {
  const settings = parseSettings({})
  t.match(settings, {
    mode: 'DEV',
    host: 'localhost',
    port: 8090,
    upstreamApiMode: 'v1',
    passModel: true,
    shutdownTimeoutSeconds: 25,
    startupTimeoutSeconds: 30,
    maxRequestBodyBytes: 10485760,
    poolThresholdBytes: 524288,
    logLevel: 'INFO',
    logFormat: 'json',
    corsAllowOrigins: [],
    allowedHosts: [],
    trafficLogSinks: [],
    upstream: {
      baseUrl: 'https://api.giga.chat/v1',
      timeout: 30,
      retryOnStatusCodes: [429, 500, 502, 503, 504],
      scope: 'GIGACHAT_API_PERS'
    }
  })
  t.equal(settings.apiKey, undefined)
  t.equal(settings.proxy.noProxy, undefined)
  t.ok(settings.workers >= 1)
  t.ok(settings.poolThreads >= 1)
  t.ok(Object.isFrozen(settings))
  t.ok(Object.isFrozen(settings.upstream))
})

t.test('every setting has a different path in the settings object', async t => {
  const places = settingNames.map(name => JSON.stringify(settingPath(name)))
  t.equal(new Set(places).size, settingNames.length)
})

t.test('names are read in any case, and the name in exact case has priority', async t => {
  t.equal(parseSettings({ gateway_port: '9000' }).port, 9000)
  t.equal(parseSettings({ gateway_port: '9000', GATEWAY_PORT: '9001' }).port, 9001)
  t.equal(parseSettings({ https_proxy: 'http://proxy.example:3128' }).proxy.httpsProxy, 'http://proxy.example:3128')
})

t.test('every boolean setting accepts the same words (N4)', async t => {
  const words: Array<[string, boolean]> = [
    ['1', true],
    ['TRUE', true],
    ['t', true],
    ['Yes', true],
    ['y', true],
    ['on', true],
    ['0', false],
    ['false', false],
    ['F', false],
    ['no', false],
    ['N', false],
    ['OFF', false]
  ]
  for (const name of settingNames.filter(one => settingsTable[one].type.words === 'boolean')) {
    const { group, key } = settingPath(name)
    const read = (text: string) => {
      const settings = parseSettings({ [name]: text }) as unknown as Record<string, Record<string, unknown>>
      return group === undefined ? settings[key] : settings[group]?.[key]
    }
    for (const [word, expected] of words) t.equal(read(word), expected, `${name}=${word}`)
    t.equal(read(''), settingsTable[name].defaultValue(), `${name}: an empty text counts as unset`)
    t.same(issuesOf({ [name]: 'maybe' }), [name])
  }
})

/** Words that each type of list takes, and one that it refuses; free texts refuse none. */
const LISTS: Record<string, { words: fc.Arbitrary<string>; wrong?: string }> = {
  GATEWAY_CORS_ALLOW_ORIGINS: {
    words: fc.constantFrom('https://app.example', 'http://localhost:5173', '/^https:.*[.]example$/'),
    wrong: '/(/'
  },
  GATEWAY_ALLOWED_HOSTS: { words: fc.constantFrom('gateway.example', '10.0.0.1'), wrong: 'http://a.example/x' },
  GATEWAY_LOGS_IP_ALLOWLIST: { words: fc.constantFrom('10.0.0.1', '10.1.0.0/16', '::1', 'fd00::/8'), wrong: 'x' },
  GATEWAY_LOGS_TRUSTED_PROXIES: { words: fc.constantFrom('10.0.0.1', '10.1.0.0/16', '::1', 'fd00::/8'), wrong: 'x' },
  GATEWAY_TRAFFIC_LOG_SINKS: { words: fc.constantFrom('sqlite', 'jsonl', 'opensearch'), wrong: 'kafka' },
  UPSTREAM_RETRY_ON_STATUS_CODES: { words: fc.integer({ min: 100, max: 599 }).map(String), wrong: '99' }
}
const anyWord = fc
  .stringMatching(/^[\w*/:.{}-][\w*/:. {}-]{0,20}$/)
  .filter(text => text.trim() === text && text[0] !== '{')

t.test('every list is read as JSON and as words parted by commas', async t => {
  const lists = settingNames.filter(name => / list\b/.test(settingsTable[name].type.words))
  t.same(
    Object.keys(LISTS).filter(name => !lists.includes(name as (typeof lists)[number])),
    []
  )
  t.ok(lists.length >= 11)
  for (const name of lists) {
    const { group, key } = settingPath(name)
    const read = (text: string) => {
      const settings = parseSettings({ [name]: text }) as unknown as Record<string, Record<string, unknown>>
      return group === undefined ? settings[key] : settings[group]?.[key]
    }
    const { words = anyWord, wrong } = LISTS[name] ?? {}
    const isOfNumbers = settingsTable[name].type.words.includes('integers')
    fc.assert(
      fc.property(
        fc.uniqueArray(words, { minLength: 1, maxLength: 4 }),
        fc.constantFrom(',', ', ', ' ,'),
        (list, comma) => {
          const expected = isOfNumbers ? list.map(Number) : list
          t.same(read(JSON.stringify(expected)), expected, `${name} as JSON`)
          t.same(read(list.join(comma)), expected, `${name} with commas`)
        }
      ),
      { numRuns: 20 }
    )
    t.same(read('[]'), [], `${name} without words`)
    if (wrong === undefined) continue
    for (const text of [wrong, JSON.stringify([wrong]), '[1', '{"a":1}', '"a"', '[{}]']) {
      t.same(issuesOf({ [name]: text }), [name], `${name}=${text}`)
    }
  }
  t.same(issuesOf({ GATEWAY_CORS_ALLOW_METHODS: '[1]' }), ['GATEWAY_CORS_ALLOW_METHODS'])
  t.same(parseSettings({ NO_PROXY: '[::1], .b.example' }).proxy.noProxy, ['[::1]', '.b.example'])
  t.same(parseSettings({ GATEWAY_TRAFFIC_LOG_SINKS: 'SQLite, opensearch,sqlite' }).trafficLogSinks, [
    'sqlite',
    'opensearch'
  ])
})

t.test('maps are JSON text', async t => {
  t.same(Object.entries(parseSettings({ GATEWAY_MODEL_MAX_CONNECTIONS: '{"one":1}' }).modelMaxConnections), [
    ['one', 1]
  ])
  for (const text of ['{"one":0}', '{"one":1.5}', '{"one":"1"}', '[]', 'one=1']) {
    t.same(issuesOf({ GATEWAY_MODEL_MAX_CONNECTIONS: text }), ['GATEWAY_MODEL_MAX_CONNECTIONS'], text)
  }
})

t.test('operations 80: an unknown traffic sink is refused by name', async t => {
  t.same(issuesOf({ GATEWAY_TRAFFIC_LOG_SINK: 'kafka' }), ['GATEWAY_TRAFFIC_LOG_SINK'])
})

t.test(
  'an enumeration is read in any case with blanks around it, and the value has the documented spelling',
  async t => {
    t.equal(parseSettings({ GATEWAY_MODE: ' prod ' }).mode, 'PROD')
    t.equal(parseSettings({ GATEWAY_LOG_LEVEL: 'warning' }).logLevel, 'WARNING')
    t.same(issuesOf({ GATEWAY_UPSTREAM_API_MODE: 'v3' }), ['GATEWAY_UPSTREAM_API_MODE'])
  }
)

t.test('numbers are accepted up to their bounds and refused beyond', async t => {
  const cases: Array<[string, string, boolean]> = [
    ['GATEWAY_PORT', '0', true],
    ['GATEWAY_PORT', '65535', true],
    ['GATEWAY_PORT', '65536', false],
    ['GATEWAY_PORT', '-1', false],
    ['GATEWAY_PORT', '80.5', false],
    ['GATEWAY_WORKERS', '0', false],
    ['GATEWAY_WORKERS', '1', true],
    ['GATEWAY_POOL_THREADS', '0', true],
    ['GATEWAY_SHUTDOWN_TIMEOUT_SECONDS', '0', false],
    ['GATEWAY_SHUTDOWN_TIMEOUT_SECONDS', '0.1', true],
    ['GATEWAY_SHUTDOWN_TIMEOUT_SECONDS', '3600', true],
    ['GATEWAY_SHUTDOWN_TIMEOUT_SECONDS', '3600.1', false],
    ['GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS', '60', true],
    ['GATEWAY_SHUTDOWN_READINESS_GRACE_SECONDS', '61', false],
    ['GATEWAY_TRAFFIC_LOG_SAMPLE_RATE', '1.01', false],
    ['UPSTREAM_TIMEOUT', 'Infinity', false],
    ['UPSTREAM_TIMEOUT', '1e1', true],
    ['UPSTREAM_MAX_RETRIES', '0', true]
  ]
  for (const [name, text, isValid] of cases)
    t.same(issuesOf({ [name]: text }), isValid ? [] : [name], `${name}=${text}`)
})

t.test('no duration is longer than a timer or a date can be', async t => {
  const notTimers = ['UPSTREAM_TOKEN_EXPIRY_BUFFER_MS', 'OTEL_EXPORTER_OTLP_TIMEOUT']
  const durations = settingNames.filter(name => /_(SECONDS|MS|DAYS|TIMEOUT)$/.test(name) && !notTimers.includes(name))
  t.ok(durations.length > 10)
  for (const name of durations) {
    t.same(issuesOf({ [name]: '2147483648' }), [name])
  }
})

t.test('an empty value counts as unset for every type but free text', async t => {
  const settings = parseSettings({
    GATEWAY_PORT: '',
    GATEWAY_HOST: '',
    GATEWAY_API_KEY: '',
    GATEWAY_CONFIG: '',
    UPSTREAM_MODEL: '',
    UPSTREAM_BASE_URL: '',
    GATEWAY_METRICS_PATH: ''
  })
  t.equal(settings.port, 8090)
  t.equal(settings.host, 'localhost')
  t.equal(settings.apiKey, undefined)
  t.equal(settings.config, undefined)
  t.equal(settings.upstream.model, undefined)
  t.equal(settings.metricsPath, '/metrics')
})

t.test('the IPv6 address to listen on may be written in brackets', async t => {
  t.equal(parseSettings({ GATEWAY_HOST: '[::1]' }).host, '::1')
  t.equal(parseSettings({ GATEWAY_HOST: '::1' }).host, '::1')
  t.equal(parseSettings({ GATEWAY_HOST: ' 0.0.0.0 ' }).host, '0.0.0.0')
  t.equal(parseSettings({ GATEWAY_HOST: 'my_host.example' }).host, 'my_host.example')
  for (const text of ['[localhost]', '[127.0.0.1]', '[]', 'http://x', 'a b', '127.0.0.1:80']) {
    t.same(issuesOf({ GATEWAY_HOST: text }), ['GATEWAY_HOST'])
  }
})

t.test('an origin between slashes is a regular expression that can be read', async t => {
  const given = ['https://a.example', '/https:\\/\\/.*\\.a\\.example/', '/', '*']
  t.same(parseSettings({ GATEWAY_CORS_ALLOW_ORIGINS: JSON.stringify(given) }).corsAllowOrigins, given)
  // The comma of an expression parts words unless the list is JSON.
  for (const text of ['["/(/"]', '[1]', '/https:\\/\\/[a-z]{1,3}/']) {
    t.same(issuesOf({ GATEWAY_CORS_ALLOW_ORIGINS: text }), ['GATEWAY_CORS_ALLOW_ORIGINS'], text)
  }
})

t.test('the metrics path is trimmed, gets exactly one leading slash and is no pattern', async t => {
  t.equal(parseSettings({ GATEWAY_METRICS_PATH: ' m/ ' }).metricsPath, '/m')
  t.equal(parseSettings({ GATEWAY_METRICS_PATH: '//internal/~m-1.0_a//' }).metricsPath, '/internal/~m-1.0_a')
  for (const text of [' ', '/', ' // ']) t.equal(parseSettings({ GATEWAY_METRICS_PATH: text }).metricsPath, '/metrics')
  for (const text of ['/:m', '/*', '/a//b', '/m?x=1', '/a b', '/m(x)']) {
    t.same(issuesOf({ GATEWAY_METRICS_PATH: text }), ['GATEWAY_METRICS_PATH'], text)
  }
})

t.test('the error names all invalid settings at once and repeats no value', async t => {
  const environment = {
    GATEWAY_PORT: 'hunter2',
    GATEWAY_API_KEYS: '["hunter2"]',
    UPSTREAM_BASE_URL: 'ftp://hunter2',
    GATEWAY_SEARCH_INDEX_URL: 'https://user:hunter2%@search.example'
  }
  const names = ['GATEWAY_PORT', 'GATEWAY_API_KEYS', 'UPSTREAM_BASE_URL', 'GATEWAY_SEARCH_INDEX_URL']
  t.same(issuesOf(environment).sort(), names.sort())
  try {
    parseSettings(environment)
  } catch (error) {
    t.notMatch(inspect(error), /hunter2/)
  }
})

t.test('every way to print a secret gives a placeholder, and only reveal() gives its text', async t => {
  const { apiKey, upstream } = parseSettings({ GATEWAY_API_KEY: 'k-1234', UPSTREAM_CREDENTIALS: 'c-1234' })
  for (const text of [`${apiKey}`, String(apiKey), JSON.stringify({ apiKey }), inspect({ apiKey }), `${apiKey}`]) {
    t.match(text, /\[redacted\]/)
    t.notMatch(text, /1234/)
  }
  t.equal(apiKey?.reveal(), 'k-1234')
  t.equal(upstream.credentials?.reveal(), 'c-1234')
  const named = parseSettings({ GATEWAY_API_KEYS: '{"blue":"b-1"}' }).apiKeys
  t.ok(named.blue instanceof Secret)
  t.equal(named.blue?.reveal(), 'b-1')
})

t.test('a secret is read from the file that its FILE variable names, without the final newline', async t => {
  const directory = createTemporaryFolder(t)
  const file = join(directory, 'key')
  writeFileSync(file, 'from-file\n')
  t.equal(parseSettings({ GATEWAY_API_KEY_FILE: file }).apiKey?.reveal(), 'from-file')
  t.equal(parseSettings({ gateway_api_key_file: file }).apiKey?.reveal(), 'from-file')
  t.same(issuesOf({ GATEWAY_API_KEY_FILE: file, GATEWAY_API_KEY: 'x' }), ['GATEWAY_API_KEY'])
  t.same(issuesOf({ GATEWAY_API_KEY_FILE: join(directory, 'missing') }), ['GATEWAY_API_KEY_FILE'])
  writeFileSync(file, '\ufefffrom-windows\r\n')
  t.equal(parseSettings({ GATEWAY_API_KEY_FILE: file }).apiKey?.reveal(), 'from-windows')
  writeFileSync(file, '')
  t.same(issuesOf({ GATEWAY_API_KEY_FILE: file }), ['GATEWAY_API_KEY_FILE'])
})

t.test('a secret in UTF-16, which PowerShell writes, is refused in words; random bytes are not', async t => {
  const folder = createTemporaryFolder(t)
  const file = join(folder, 'key')
  writeFileSync(file, Buffer.from('\ufeffsecret\r\n', 'utf16le'))
  t.throws(() => parseSettings({ GATEWAY_API_KEY_FILE: file }), { message: /GATEWAY_API_KEY_FILE .*UTF-8/ })
  writeFileSync(file, Buffer.from([0xff, 1, 0, 2]))
  t.ok(parseSettings({ GATEWAY_FINGERPRINT_KEY_FILE: file }).fingerprintKey)
})

t.test('resolved variables give the same settings later, without reading the secret file again', async t => {
  const directory = createTemporaryFolder(t)
  const file = join(directory, 'key')
  writeFileSync(file, 'first')
  const resolved = resolveEnvironment({ GATEWAY_API_KEY_FILE: file, gateway_workers: '3' })
  writeFileSync(file, 'second')
  const settings = parseSettings(resolved.variables)
  t.equal(settings.apiKey?.reveal(), 'first')
  t.equal(settings.workers, 3)
  t.same(settingsFrom(resolved), settings)
})

t.test('an alias is read when the setting has no value under its own name', async t => {
  t.equal(
    parseSettings({ TRACE_COLLECTOR_ENDPOINT: 'http://c.example:4317' }).traceCollectorEndpoint,
    'http://c.example:4317'
  )
  const both = { GATEWAY_TRACE_PROJECT_NAME: 'own', TRACE_PROJECT_NAME: 'fallback' }
  t.equal(parseSettings(both).traceProjectName, 'own')
  t.equal(
    parseSettings({ GATEWAY_TRAFFIC_LOG_POSTGRES_DSN: 'postgres://h/db' }).trafficLogRelationalDsn?.reveal(),
    'postgres://h/db'
  )
})

t.test('only unknown GATEWAY_ and UPSTREAM_ names give a warning, with the nearest known name (N1)', async t => {
  const { warnings } = resolveEnvironment({
    GATEWAY_LOG_LEVLE: 'INFO',
    upstream_credential: 'hunter2',
    HOME: '/root',
    GATEWAY_NORMALIZATION_MODE: 'on'
  })
  t.equal(warnings.length, 3)
  t.match(warnings[0], /GATEWAY_LOG_LEVLE.*GATEWAY_LOG_LEVEL\b/)
  t.match(warnings[1], /GATEWAY_NORMALIZATION_MODE/)
  t.match(warnings[2], /UPSTREAM_CREDENTIAL .*UPSTREAM_CREDENTIALS\b/)
  t.notMatch(warnings.join(), /hunter2/)
})

t.test('authentication is required when it is switched on, there is a keys file, or the mode is PROD', async t => {
  t.equal(isAuthRequired(parseSettings({})), false)
  t.equal(isAuthRequired(parseSettings({ GATEWAY_ENABLE_API_KEY_AUTH: 'true' })), true)
  t.equal(isAuthRequired(parseSettings({ GATEWAY_KEYS_FILE: 'keys.yaml' })), true)
  t.equal(isAuthRequired(parseSettings({ GATEWAY_MODE: 'PROD' })), true)
})
