import t from 'tap'
import { createMessage, readSupervisorMessage } from '../../../shared/ipc/messages.ts'
import type { LifecycleState } from '../../../supervisor/lifecycle/lifecycle.ts'
import { planRuntime } from '../../../supervisor/plan/runtime-plan.ts'
import { createWorkerConfiguration } from '../../../supervisor/workers/worker-configuration.ts'
import { writeKeySet } from '../../support/key-sets.ts'

const plan = planRuntime({ environment: {}, options: { variables: {}, isDemo: false, envFile: '/dev/null' } })

t.test('a worker that starts later gets what has changed since the start', async t => {
  const listen = { host: '127.0.0.1', port: 1, reusePort: true }
  const keys = writeKeySet({ keys: [] })
  const now = {
    keys: undefined as typeof keys | undefined,
    listen,
    lifecycle: { phase: 'starting' } as LifecycleState,
    rests: [] as Array<{ target: string; restMs: number; round: number }>
  }
  const configure = createWorkerConfiguration(
    {
      keys: { current: () => now.keys },
      listen: () => now.listen,
      lifecycle: () => now.lifecycle,
      snapshot: () => ({ catalog: null, providerHealth: [], rests: now.rests }),
      socketPaths: { store: '/run/store.sock' }
    },
    {
      plan,
      version: '1.2.3',
      fingerprintKey: 'fingerprint',
      compactionKey: { key: 'compaction', isLasting: true },
      isQuiet: false
    }
  )
  const first = configure(1)
  t.match(first, { workerId: 1, keys: null, listen, rests: [], isHostStarted: false, isLeaving: false })
  t.match(first, { writerSocket: null, storeSocket: '/run/store.sock' })
  t.ok(readSupervisorMessage(createMessage(first)), 'a worker can read it')

  Object.assign(now, { keys, listen: { ...listen, port: 2 }, lifecycle: { phase: 'live', isReady: true } })
  t.match(configure(1), { keys, listen: { port: 2 }, isHostStarted: true, isLeaving: false })
  now.lifecycle = { phase: 'leaving' }
  t.match(configure(2), { workerId: 2, isHostStarted: true, isLeaving: true })
  now.lifecycle = { phase: 'closing', exitCode: 0 }
  t.match(configure(2), { isHostStarted: false, isLeaving: false })
})
