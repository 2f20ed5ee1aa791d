import t from 'tap'
import { type SettingName, settingNames, settingsTable } from '../../../shared/settings/table.ts'
import { writeTransferredSettings } from '../../../shared/settings/transfer.ts'
import {
  listWriterSecrets,
  readWriterSettings,
  WRITER_SETTINGS,
  writeWriterSettings
} from '../../../shared/settings/writer-settings.ts'
import { parseSettings } from '../../../shared/settings.ts'

const NEEDED_SECRETS: readonly SettingName[] = [
  'GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN',
  'GATEWAY_OPENSEARCH_USERNAME',
  'GATEWAY_OPENSEARCH_PASSWORD'
]

const secretNames = settingNames.filter(name => settingsTable[name].isSecret)

/** A value of its own for every secret that a text or a map of texts can be. */
const variables = Object.fromEntries(
  secretNames.map(name => {
    const texts = [`sqlite:secret-${name}`, JSON.stringify({ one: `secret-${name}` })]
    return [name, texts.find(text => settingsTable[name].type.schema.safeParse(text).success)]
  })
)

t.test('of all secrets, the writer gets those of its sinks alone', async t => {
  const sent = JSON.stringify(writeWriterSettings(parseSettings(variables)))
  t.ok(secretNames.length > NEEDED_SECRETS.length)
  for (const name of secretNames) {
    t.type(variables[name], 'string', `${name} was set`)
    t.equal(sent.includes(`secret-${name}"`), NEEDED_SECRETS.includes(name), name)
  }
})

t.test('the writer reads the settings that it was sent, and redacts their secrets', async t => {
  const settings = parseSettings({
    ...variables,
    GATEWAY_TRAFFIC_LOG_SINKS: 'jsonl,sqlite',
    GATEWAY_LOG_LEVEL: 'DEBUG'
  })
  const received = readWriterSettings(JSON.parse(JSON.stringify(writeWriterSettings(settings))))
  t.strictSame(received.trafficLogSinks, ['jsonl', 'sqlite'])
  t.equal(received.logLevel, 'DEBUG')
  t.strictSame(listWriterSecrets(received).sort(), NEEDED_SECRETS.map(name => variables[name]).sort())
})

t.test('settings that are not those of the writer are refused', async t => {
  const all = writeTransferredSettings(parseSettings({ GATEWAY_API_KEY: 'hunter2' }))
  t.throws(() => readWriterSettings(all), { name: 'SettingsError', message: /GATEWAY_API_KEY is unknown/ })
  const { GATEWAY_LOG_LEVEL: _, ...partial } = writeWriterSettings(parseSettings({}))
  t.throws(() => readWriterSettings(partial), { name: 'SettingsError', message: 'GATEWAY_LOG_LEVEL is missing' })
  t.equal(new Set(WRITER_SETTINGS).size, WRITER_SETTINGS.length)
})
