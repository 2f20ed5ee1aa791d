import { inspect } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import t from 'tap'
import { Secret } from '../../../shared/secrets/secret.ts'
import { listSecretTexts } from '../../../shared/settings/effective.ts'
import { settingNames, settingsTable } from '../../../shared/settings/table.ts'
import { readTransferredSettings, writeTransferredSettings } from '../../../shared/settings/transfer.ts'
import { parseSettings, readSetting, type Settings } from '../../../shared/settings.ts'
import * as fc from '../../support/properties.ts'

/** Texts of which each kind of setting reads at least one. */
const texts = [
  ...['true', 'off', '0', '1', '0.5', '30', '8090', '600', 'a text', 'hunter2-hunter2', '/a/path', 'DEV', 'PROD'],
  ...['http://localhost:9200', 'https://upstream.example/v1', '["*"]', '[]', '[429,500]', 'a.example, b.example'],
  ...[
    '{"one":4,"__proto__":2}',
    '{}',
    '{"second":"hunter2-second","__proto__":"hunter2-odd"}',
    'INFO',
    'DEBUG',
    'json'
  ],
  ...[
    'v1',
    'v2',
    'noop',
    'jsonl,sqlite',
    'relational',
    'otlp',
    '/metrics',
    'explicit',
    'any_object',
    'refuse',
    'redis://user:pa%20ss@cache:6379/2',
    'grpc',
    'gzip',
    '10.0.0.0/8'
  ]
]

const variables = fc.record(
  Object.fromEntries(
    settingNames.map(name => {
      const usable = texts.filter(text => settingsTable[name].type.schema.safeParse(text).success)
      return [name, fc.constantFrom(...usable)]
    })
  ),
  { requiredKeys: [] }
)

/** As it crosses from one process to the other: as a structured clone or as JSON, here as both in turn. */
const transfer = (settings: Settings): Settings =>
  readTransferredSettings(JSON.parse(JSON.stringify(deserialize(serialize(writeTransferredSettings(settings))))))

/** Everything that a reader of the settings can see, secrets revealed. */
function reveal(settings: Settings): unknown {
  const show = (value: unknown): unknown => {
    if (value instanceof Secret) return { secret: value.reveal() }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return {
      prototype: Object.getPrototypeOf(value),
      members: Object.entries(value).map(([key, one]) => [key, show(one)])
    }
  }
  return settingNames.map(name => [name, show(readSetting(settings, name))])
}

t.test('settings come out of a transfer as they went in, for every row of the table', async t => {
  fc.assert(
    fc.property(variables, environment => {
      const settings = parseSettings(environment)
      const received = transfer(settings)
      t.strictSame(reveal(received), reveal(settings))
      t.strictSame(Object.keys(received), Object.keys(settings))
      t.strictSame(listSecretTexts(received), listSecretTexts(settings))
    }),
    { numRuns: 60 }
  )
})

t.test('received settings are frozen with all that they hold, and print no secret', async t => {
  const settings = transfer(
    parseSettings({
      GATEWAY_API_KEY: 'hunter2',
      GATEWAY_API_KEYS: '{"a":"hunter2-a"}',
      UPSTREAM_CREDENTIALS: 'hunter2-c'
    })
  )
  for (const value of [settings, settings.upstream, settings.apiKeys, settings.corsAllowOrigins]) {
    t.ok(Object.isFrozen(value))
  }
  t.notMatch(inspect(settings, { depth: 9 }) + JSON.stringify(settings), /hunter2/)
})

t.test('what is not a whole set of settings is refused by name, without a value', async t => {
  const whole = writeTransferredSettings(parseSettings({ GATEWAY_API_KEY: 'hunter2' }))
  const { GATEWAY_PORT: _, ...withoutPort } = whole
  const refusals: Array<[Record<string, unknown>, string]> = [
    [withoutPort, 'GATEWAY_PORT is missing'],
    [{ ...whole, GATEWAY_NEW: 'hunter2' }, 'GATEWAY_NEW is unknown'],
    [{ ...whole, GATEWAY_API_KEY: { deep: { hunter2: 1 } } }, 'GATEWAY_API_KEY is not plain data'],
    [{ ...whole, UPSTREAM_FLAGS: () => 'hunter2' }, 'UPSTREAM_FLAGS is not plain data']
  ]
  for (const [transferred, message] of refusals) {
    t.throws(() => readTransferredSettings(transferred), { name: 'SettingsError', message })
  }
})
