// The unit file of `ops/systemd`: systemd accepts it, it agrees with the settings, and it gives the service little to break.

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { parseSettings } from '../../shared/settings.ts'
import { EXIT_CODES } from '../../supervisor/lifecycle/exit-codes.ts'
import { whyWithout } from '../support/programs.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

const NAME = 'llm-gateway.service'
const unit = readFileSync(join(import.meta.dirname, '../../ops/systemd', NAME), 'utf8')
/** The worst is 10; a service without any restriction has 9.6. */
const EXPOSURE_MAX = 2

const run = promisify(execFile)
const skip = whyWithout('systemd-analyze')

function read(name: string): string[] {
  return [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)
}

/** The unit with a command that exists here. */
function writeUnit(t: Test): string {
  const file = join(createTemporaryFolder(t), NAME)
  writeFileSync(file, unit.replace('/usr/bin/llm-gateway', process.execPath))
  return file
}

t.test('systemd accepts it without a word', { skip }, async t => {
  const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', writeUnit(t)])
  t.equal(stdout + stderr, '')
})

t.test('the service is little exposed', { skip }, async t => {
  const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', writeUnit(t)])
  const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? []
  t.ok(Number(exposure) <= EXPOSURE_MAX, `exposure ${exposure}`)
})

t.test('it waits for the messages of the gateway, which another process sends', async t => {
  t.strictSame(read('Type'), ['notify'])
  t.strictSame(read('NotifyAccess'), ['all'])
  t.ok(Number(read('WatchdogSec')[0]) > 0)
})

t.test('a stop leaves time for the whole drain', async t => {
  t.equal(Number(read('TimeoutStopSec')[0]), parseSettings({}).shutdownTimeoutSeconds + 10)
})

t.test('a wrong configuration is not started again', async t => {
  t.strictSame(read('RestartPreventExitStatus'), [String(EXIT_CODES.wrongConfiguration)])
})

t.test('its variables are settings, and its keys are files that the gateway reads', async t => {
  const folder = createTemporaryFolder(t)
  const credentials = read('LoadCredential').map(value => value.split(':')[0] ?? '')
  for (const name of credentials) writeFileSync(join(folder, name), `text of ${name}`)
  const variables = read('Environment').map(value => value.replace('%d', folder).split('=') as [string, string])
  const settings = parseSettings(Object.fromEntries(variables))
  t.equal(settings.apiKey?.reveal(), 'text of api-key')
  t.equal(settings.upstream.credentials?.reveal(), 'text of upstream-credentials')
  t.equal(settings.logFilename, '/dev/null')
})
