import t from 'tap'
import { parseCommandLine, USAGE } from '../../../supervisor/plan/command-line.ts'

t.test('without arguments the gateway starts', async t => {
  t.same(parseCommandLine([]), { kind: 'start', options: { variables: {}, isDemo: false } })
})

t.test('every documented flag is understood, with and without an equals sign', async t => {
  const command = parseCommandLine([
    '--config',
    'a.yaml',
    '--env-file=.env.test',
    '--host',
    '0.0.0.0',
    '--port=9000',
    '--workers',
    '3',
    '--demo'
  ])
  t.same(command, {
    kind: 'start',
    options: {
      variables: { GATEWAY_HOST: '0.0.0.0', GATEWAY_PORT: '9000', GATEWAY_WORKERS: '3' },
      configPath: 'a.yaml',
      envFile: '.env.test',
      isDemo: true
    }
  })
  t.equal(parseCommandLine(['--inspect-config']).kind, 'inspect')
  t.same(parseCommandLine(['--new-key', 'ci.build-1']), { kind: 'new-key', name: 'ci.build-1' })
  t.equal(parseCommandLine(['-h']).kind, 'help')
  t.equal(parseCommandLine(['--version']).kind, 'version')
})

t.test('of a flag given twice the last one counts, over both spellings of the same flag', async t => {
  t.match(parseCommandLine(['--config', 'a', '--config', 'b']), { options: { configPath: 'b' } })
  t.match(parseCommandLine(['--env-file', 'a', '--env-path', 'b']), { options: { envFile: 'b' } })
  t.match(parseCommandLine(['--env-path', 'b', '--env-file', 'a']), { options: { envFile: 'a' } })
})

t.test('an empty --config is passed on, because it has an error of its own', async t => {
  t.match(parseCommandLine(['--config', '']), { kind: 'start', options: { configPath: '' } })
})

t.test('bridge 44: a wrong argument is a usage error that repeats no value', async t => {
  const wrong = [
    ['--config'],
    ['--nope'],
    ['word'],
    ['--proxy.port', '1'],
    ['--inspect'],
    ['--port', 'hunter2'],
    ['--port', ''],
    ['--port', '65536'],
    ['--workers', '0'],
    ['--workers', '-1'],
    ['--host='],
    ['--new-key'],
    ['--new-key', ''],
    ['--new-key', 'HUNTER2'],
    ['--new-key', 'default'],
    ['--env-file='],
    ['--demo=hunter2'],
    ['--api-key=hunter2'],
    ['--api-key', 'hunter2'],
    ['hunter2', '--demo'],
    ['--', 'hunter2']
  ]
  for (const argumentList of wrong) {
    const command = parseCommandLine(argumentList)
    t.equal(command.kind, 'usage-error', argumentList.join(' '))
    if (command.kind !== 'usage-error') continue
    t.notMatch(command.message, /hunter2/)
    t.notMatch(command.message, /\n/)
  }
})

t.test('the usage text names every flag and no secret', async t => {
  for (const flag of ['--config', '--inspect-config', '--env-file', '--env-path', '--host', '--port', '--workers']) {
    t.match(USAGE, flag)
  }
  t.notMatch(USAGE, /KEY|PASSWORD|CREDENTIALS/)
})
