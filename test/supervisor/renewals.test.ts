import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createKeysInForce } from '../../supervisor/keys/keys-in-force.ts'
import { startRenewals } from '../../supervisor/renewals.ts'
import { writeKeySet } from '../support/key-sets.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

function setUp(t: Test) {
  const notes: string[] = []
  const listeners = new Map<string, () => void>()
  const signal = (name: string) => (listener: () => void) => {
    listeners.set(name, listener)
    return () => void listeners.delete(name)
  }
  const keys = createKeysInForce(undefined)
  const host = { isLive: true }
  const renewals = startRenewals(
    {
      runtimeLog: {
        log: pino({ enabled: false }),
        reopen: () => void notes.push('own log')
      },
      signals: { onReopen: signal('reopen'), onReload: signal('reload'), onReplace: signal('replace') },
      fleet: { broadcast: ({ kind }) => notes.push(kind), replaceWorkers: () => notes.push('replace workers') },
      kept: { reopenLogs: () => notes.push('logs of services') },
      keys,
      isLive: () => host.isLive,
      registry: undefined
    },
    {
      plan: {
        settings: {
          useHttps: false,
          httpsKeyFile: undefined,
          httpsCertFile: undefined,
          logFilename: join(createTemporaryFolder(t), 'gateway.log'),
          logMaxSize: 1_000,
          logRetentionDays: 1
        },
        keysFile: undefined
      },
      listen: { host: '127.0.0.1', port: 1, reusePort: true }
    }
  )
  t.teardown(renewals.close)
  return { renewals, keys, host, listeners, take: () => notes.splice(0) }
}

t.test('a signal reopens the logs of all processes, and replaces workers only of a gateway that serves', async t => {
  const { host, listeners, take } = setUp(t)
  listeners.get('reopen')?.()
  t.same(take(), ['own log', 'reopen-log', 'logs of services'])
  listeners.get('replace')?.()
  t.same(take(), ['replace workers'])
  host.isLive = false
  listeners.get('replace')?.()
  t.same(take(), [], 'it starts, or it stops')
})

t.test('keys that change go to the workers; a file that is not configured is not followed', async t => {
  const { renewals, keys, listeners, take } = setUp(t)
  keys.replace(writeKeySet({ keys: [] }))
  t.same(take(), ['keys-changed'])
  t.notOk(listeners.has('reload'))
  t.equal(renewals.certificate, undefined)
  t.same(renewals.listen(), { host: '127.0.0.1', port: 1, reusePort: true })
})

t.test('nothing listens to signals after the close', async t => {
  const { renewals, listeners } = setUp(t)
  t.equal(listeners.size, 2)
  renewals.close()
  t.equal(listeners.size, 0)
})
