// The fleet over processes that do only what a test makes them do.
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { ChildListeners } from '../../../supervisor/processes/child-process.ts'
import { DEFAULT_HEALTH_POLICY } from '../../../supervisor/processes/process-keeper.ts'
import { createRestartPolicy } from '../../../supervisor/processes/restart-policy.ts'
import { createFleet, type FleetDependencies } from '../../../supervisor/workers/fleet.ts'

interface FakeProcess {
  readonly listeners: ChildListeners
  isKilled: boolean
}

function setUp(t: Test, workerCount: number) {
  const processes: FakeProcess[] = []
  const lines: Array<{ event: string; level: string }> = []
  const events: string[] = []
  const fleet = createFleet(
    {
      log: pino(
        { base: null, timestamp: false, formatters: { level: level => ({ level }) } },
        { write: line => lines.push(JSON.parse(line)) }
      ),
      nowMs: () => 0,
      random: () => 0,
      fork(listeners) {
        const process: FakeProcess = { listeners, isKilled: false }
        processes.push(process)
        return {
          pid: processes.length,
          send: () => undefined,
          kill() {
            process.isKilled = true
            listeners.onExit({ code: null, signal: 'SIGKILL' })
          }
        }
      },
      // No message of a service is sent in these tests.
      services: {} as FleetDependencies['services'],
      onEvent: ({ kind }) => events.push(kind)
    },
    {
      workerCount,
      startupTimeoutMs: 60_000,
      restartPolicy: createRestartPolicy(workerCount),
      healthPolicy: DEFAULT_HEALTH_POLICY,
      replacement: { drainTimeoutMs: 60_000, sharesPort: false },
      revisions: { config: 'c', matrix: 'm' },
      configure: () => {
        throw new Error('No worker of these tests is configured.')
      }
    }
  )
  t.teardown(() => {
    fleet.close()
    fleet.kill()
  })
  const exits = () => lines.filter(({ event }) => event === 'worker_exited').map(({ level }) => level)
  return { fleet, processes, events, exits }
}

for (const step of ['drain', 'close'] as const) {
  t.test(`a worker that still loads at the ${step} is killed, and its exit is no failure`, async t => {
    const { fleet, processes, events, exits } = setUp(t, 2)
    fleet.start()
    fleet[step]()
    t.same(
      processes.map(({ isKilled }) => isKilled),
      [true, true]
    )
    t.same(exits(), ['info', 'info'])
    t.ok(events.includes('all-exited'))
  })
}

t.test('a worker that exits by itself is a failure', async t => {
  const { fleet, processes, exits } = setUp(t, 1)
  fleet.start()
  processes[0]?.listeners.onExit({ code: 1, signal: null })
  t.same(exits(), ['error'])
})
