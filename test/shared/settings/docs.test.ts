import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { renderSettingsTable, replaceSettingsTable } from '../../../shared/settings/docs.ts'
import {
  describeEffectiveSettings,
  describeSecurityPosture,
  listSecretTexts
} from '../../../shared/settings/effective.ts'
import { settingNames, settingsTable } from '../../../shared/settings/table.ts'
import { parseSettings, settingPath } from '../../../shared/settings.ts'

const root = join(import.meta.dirname, '../../..')

t.test('the settings tables of the guide equal the generated ones', async t => {
  const guide = readFileSync(join(root, 'ops/guides/settings.md'), 'utf8')
  const updated = replaceSettingsTable(guide)
  t.equal(guide, updated, 'run: npx node ops/docs/settings-table.ts')
})

t.test('the settings in the README exist and have the defaults that it names', async t => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const rows = [...readme.matchAll(/^\| `((?:GATEWAY|UPSTREAM)_\w+)` \| (.*?) \|/gm)]
  t.ok(rows.length >= 12)
  const reference = renderSettingsTable()
  for (const [, name = '', stated = ''] of rows) {
    const row = reference.split('\n').find(line => line.startsWith(`| \`${name}\` |`))
    t.equal(row?.split(/(?<!\\)\|/)[3]?.trim(), stated, name)
  }
})

t.test('the table has one row for each setting, with its meaning', async t => {
  const table = renderSettingsTable()
  for (const name of settingNames) {
    const row = table.split('\n').find(line => line.startsWith(`| \`${name}\` |`))
    t.ok(row?.includes(settingsTable[name].meaning.replaceAll('|', '\\|')), name)
    t.match(settingsTable[name].meaning, /[.]$/, `${name}: a sentence`)
  }
})

t.test('only the text between the markers is replaced', async t => {
  const document = 'before\n<!-- settings:start -->\nold\n<!-- settings:end -->\nafter\n'
  const updated = replaceSettingsTable(document)
  t.match(updated, /^before\n<!-- settings:start -->\n\n#### Process\n/)
  t.match(updated, /\n\n<!-- settings:end -->\nafter\n$/)
  t.notMatch(updated, /^old$/m)
  t.equal(replaceSettingsTable(updated ?? ''), updated)
  t.equal(replaceSettingsTable('nothing'), undefined)
})

t.test('every setting is read by a source file', async t => {
  const source = ['supervisor', 'worker', 'shared']
    .flatMap(folder => globSync(`${folder}/**/*.ts`, { cwd: root }))
    .filter(file => !file.startsWith('shared/settings/'))
    .map(file => readFileSync(join(root, file), 'utf8'))
    .join('\n')
  for (const name of settingNames) {
    // Not `t.match`: the report of a failure would hold the whole source.
    t.ok(new RegExp(`\\b${settingPath(name).key}\\b`).test(source), name)
  }
})

const secrets = {
  GATEWAY_API_KEY: 'hunter2-key',
  GATEWAY_API_KEYS: '{"blue":"hunter2-blue"}',
  GATEWAY_ADMIN_API_KEY: 'hunter2-admin',
  GATEWAY_FINGERPRINT_KEY: 'hunter2-finger',
  GATEWAY_TRAFFIC_LOG_RELATIONAL_DSN: 'postgres://u:hunter2-dsn@h/db',
  GATEWAY_OPENSEARCH_PASSWORD: 'hunter2-search',
  GATEWAY_TRACE_API_KEY: 'hunter2-trace',
  UPSTREAM_CREDENTIALS: 'hunter2-credentials',
  UPSTREAM_PASSWORD: 'hunter2-password',
  UPSTREAM_ACCESS_TOKEN: 'hunter2-token',
  UPSTREAM_KEY_FILE_PASSWORD: 'hunter2-file',
  HTTPS_PROXY: 'http://user:hunter2-proxy@proxy.example:3128'
}

t.test('operations 110: effective settings show every value but no secret and no password of a URL', async t => {
  const settings = parseSettings({ ...secrets, GATEWAY_PORT: '9000' })
  const described = describeEffectiveSettings(settings)
  t.notMatch(inspect(described, { depth: 9 }), /hunter2/)
  t.match(described, {
    GATEWAY_PORT: 9000,
    GATEWAY_API_KEY: '***',
    GATEWAY_API_KEYS: { blue: '***' },
    UPSTREAM_CREDENTIALS: '***',
    HTTPS_PROXY: 'http://***@proxy.example:3128',
    UPSTREAM_TIMEOUT: 30
  })
  t.notOk('UPSTREAM_USER' in described)
})

t.test('the texts of all secret settings are listed for masking in the log', async t => {
  const texts = listSecretTexts(parseSettings(secrets))
  t.equal(texts.length, Object.keys(secrets).length - 1, 'a proxy address is not a secret setting')
  t.ok(texts.includes('hunter2-blue'))
})

t.test('the security posture has the documented members', async t => {
  const posture = describeSecurityPosture(parseSettings({ GATEWAY_API_KEYS: '{"a":"b"}' }))
  t.same(Object.keys(posture), [
    'mode',
    'auth_required',
    'api_key_configured',
    'cors_allow_origins',
    'has_wildcard_cors',
    'allowed_hosts',
    'log_redact_sensitive',
    'logs_ip_allowlist',
    'logs_trusted_proxies',
    'max_request_body_bytes',
    'max_audio_file_size_bytes',
    'max_image_file_size_bytes',
    'max_text_file_size_bytes',
    'max_audio_image_total_size_bytes'
  ])
  t.equal(posture.api_key_configured, true)
})
