import { mock } from 'node:test'
import t, { type Test } from 'tap'
import type { ChildHandle, ChildListeners } from '../../../supervisor/processes/child-process.ts'
import { createProcessKeeper } from '../../../supervisor/processes/process-keeper.ts'
import {
  createRestartBudget,
  createRestartPolicy,
  type RestartPolicy
} from '../../../supervisor/processes/restart-policy.ts'
import { endsClearedIntervals } from '../../support/engine.ts'

interface FakeProcess {
  readonly listeners: ChildListeners
  readonly sent: object[]
  isKilled: boolean
}

/** A keeper over processes that do only what a test makes them do, on a clock that stands still until the test moves it. */
function createKept(t: Test, policy: Partial<RestartPolicy> = {}) {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] })
  t.teardown(() => mock.timers.reset())
  const processes: FakeProcess[] = []
  const events: string[] = []
  let forkError: Error | undefined
  const keeper = createProcessKeeper(
    {
      nowMs: Date.now,
      restarts: createRestartBudget(
        { nowMs: Date.now, random: () => 0.999 },
        { ...createRestartPolicy(1), exitsInWindowMax: 2, ...policy }
      ),
      fork(listeners) {
        if (forkError !== undefined) throw forkError
        const process: FakeProcess = { listeners, sent: [], isKilled: false }
        processes.push(process)
        const handle: ChildHandle = {
          pid: 100 + processes.length,
          send: message => process.sent.push(message),
          kill() {
            process.isKilled = true
          }
        }
        return handle
      },
      onEvent: event => events.push(event.kind)
    },
    {
      startupTimeoutMs: 1000,
      healthPolicy: { pingIntervalMs: 100, unansweredPingsMax: 3 },
      createPing: nonce => ({ ping: nonce })
    }
  )
  const latest = () => {
    const process = processes.at(-1)
    if (process === undefined) throw new Error('Nothing was forked.')
    return process
  }
  const exit = () => latest().listeners.onExit({ code: 1, signal: null })
  return { keeper, processes, events, latest, exit, setForkError: (error?: Error) => (forkError = error) }
}

t.test('a process that is ready in time stays, and its messages reach the owner', async t => {
  const { keeper, latest, events } = createKept(t)
  keeper.start()
  t.match(keeper, { isRunning: true, isReady: false, pid: 101 })
  keeper.send({ hello: 1 })
  mock.timers.tick(999)
  keeper.reportReady()
  mock.timers.tick(1)
  latest().listeners.onMessage({ some: 'message' })
  t.equal(keeper.isReady, true)
  t.same(latest().sent[0], { hello: 1 })
  t.equal(latest().isKilled, false)
  t.same(events, ['forking', 'message'])
})

t.test('a process that is not ready in time is killed, and started again when it has exited', async t => {
  const { keeper, processes, latest, exit, events } = createKept(t)
  keeper.start()
  mock.timers.tick(1000)
  t.equal(latest().isKilled, true)
  t.equal(processes.length, 1, 'the next one waits for the exit')
  exit()
  t.match(keeper, { isRunning: false, isReady: false, pid: undefined })
  mock.timers.tick(99)
  t.equal(processes.length, 2)
  t.same(events, ['forking', 'not-ready-in-time', 'exited', 'restart-planned', 'forking'])
})

t.test('a process that has closed everything is killed where it does not exit soon', async t => {
  const { keeper, latest, exit, events } = createKept(t)
  keeper.start()
  keeper.reportReady()
  keeper.stopRestarting()
  keeper.stopWatching()
  keeper.expectExit()
  mock.timers.tick(999)
  t.equal(latest().isKilled, false)
  mock.timers.tick(1)
  t.equal(latest().isKilled, true)
  exit()
  t.same(events, ['forking', 'exit-forced', 'exited'])
})

t.test('a process that exits in time after its close is not killed, nor is the one after it', async t => {
  const { keeper, latest, processes, exit, events } = createKept(t)
  keeper.start()
  keeper.expectExit()
  mock.timers.tick(999)
  exit()
  keeper.expectExit()
  mock.timers.tick(99)
  keeper.reportReady()
  t.equal(processes.length, 2)
  mock.timers.tick(2)
  t.equal(latest().isKilled, false)
  t.same(events, ['forking', 'exited', 'restart-planned', 'forking'])
})

t.test('the delay grows with each exit in a row, and a long run starts a new count', async t => {
  const { keeper, processes, exit } = createKept(t, { exitsInWindowMax: 99, stableUptimeMs: 5000 })
  keeper.start()
  keeper.reportReady()
  for (const delayMs of [99, 199, 399]) {
    exit()
    const before = processes.length
    mock.timers.tick(delayMs - 1)
    t.equal(processes.length, before)
    mock.timers.tick(1)
    t.equal(processes.length, before + 1)
    keeper.reportReady()
  }
  for (let uptimeMs = 0; uptimeMs < 5000; uptimeMs += 100) {
    keeper.reportPong()
    mock.timers.tick(100)
  }
  exit()
  mock.timers.tick(99)
  t.equal(processes.length, 5)
})

t.test('exits that come too fast are given up, once', async t => {
  const { keeper, processes, exit, events } = createKept(t)
  keeper.start()
  for (let exits = 0; exits < 3; exits += 1) {
    exit()
    mock.timers.tick(1000)
  }
  t.equal(processes.length, 3)
  t.same(events.slice(-2), ['exited', 'gave-up'])
})

t.test('keepers that share a budget give up together', async t => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  t.teardown(() => mock.timers.reset())
  const restarts = createRestartBudget(
    { nowMs: Date.now, random: () => 0 },
    { ...createRestartPolicy(1), exitsInWindowMax: 2 }
  )
  t.same(
    [1, 1, 1].map(exitsInRow => restarts.spend(exitsInRow).kind),
    ['restart', 'restart', 'give-up']
  )
  mock.timers.tick(restarts.policy.windowMs)
  t.equal(restarts.spend(1).kind, 'restart', 'old exits are forgotten')
})

t.test('a fork that fails, at once or later, counts as an exit', async t => {
  const { keeper, processes, latest, events, setForkError } = createKept(t)
  setForkError(new Error('no room'))
  keeper.start()
  t.same(events, ['forking', 'fork-failed', 'restart-planned'])
  t.equal(keeper.isRunning, false)
  setForkError()
  mock.timers.tick(99)
  latest().listeners.onForkFailed(new Error('no such file'))
  t.same(events.slice(3), ['forking', 'fork-failed', 'restart-planned'])
  mock.timers.tick(199)
  t.equal(processes.length, 2)
  mock.timers.tick(1000)
  t.equal(latest().isKilled, true, 'the start of the next one has its whole deadline')
})

t.test('pings begin when the process is ready; as many as allowed may stay unacknowledged', async t => {
  const { keeper, latest, events } = createKept(t)
  keeper.start()
  mock.timers.tick(500)
  t.same(latest().sent, [], 'a process that starts is not pinged')
  keeper.reportReady()
  mock.timers.tick(300)
  t.same(latest().sent, [{ ping: 1 }, { ping: 2 }, { ping: 3 }])
  keeper.reportPong()
  mock.timers.tick(300)
  t.equal(latest().isKilled, false)
  mock.timers.tick(100)
  t.equal(latest().isKilled, true)
  mock.timers.tick(endsClearedIntervals ? 1000 : 0)
  t.equal(events.filter(kind => kind === 'unresponsive').length, 1)
  t.equal(latest().sent.length, 6)
})

t.test('a stuck process that is replaced leaves nothing to its successor', async t => {
  const { keeper, latest, exit } = createKept(t)
  keeper.start()
  keeper.reportReady()
  mock.timers.tick(400)
  exit()
  mock.timers.tick(99)
  t.equal(keeper.isReady, false)
  keeper.reportReady()
  mock.timers.tick(300)
  t.equal(latest().isKilled, false)
  t.equal(latest().sent.length, 3)
})

t.test('after stopRestarting a planned restart does not happen', async t => {
  const { keeper, processes, exit, events } = createKept(t)
  keeper.start()
  exit()
  t.same(events, ['forking', 'exited', 'restart-planned'])
  keeper.stopRestarting()
  mock.timers.tick(60_000)
  t.equal(processes.length, 1)
})

t.test('after stopRestarting a process is still pinged, and its exit is final', async t => {
  const { keeper, processes, latest, exit, events } = createKept(t)
  keeper.start()
  keeper.reportReady()
  keeper.stopRestarting()
  mock.timers.tick(100)
  t.same(latest().sent, [{ ping: 1 }])
  exit()
  mock.timers.tick(60_000)
  t.equal(processes.length, 1)
  t.same(events, ['forking', 'exited'])
})

t.test('after stopWatching neither the deadline nor a ping touches the process', async t => {
  const { keeper, latest } = createKept(t)
  keeper.start()
  keeper.stopWatching()
  mock.timers.tick(60_000)
  t.equal(latest().isKilled, false)
  keeper.kill()
  t.equal(latest().isKilled, true)
})

t.test('without a process, sending, killing and readiness do nothing', async t => {
  const { keeper, processes, exit } = createKept(t)
  keeper.send({})
  keeper.kill()
  keeper.reportReady()
  t.match(keeper, { isRunning: false, isReady: false })
  keeper.start()
  keeper.stopRestarting()
  exit()
  keeper.send({})
  keeper.reportReady()
  mock.timers.tick(1000)
  t.same(processes[0]?.sent, [])
  t.equal(keeper.isReady, false)
})
