import { pino } from 'pino'
import t from 'tap'
import { createMessage } from '../../../shared/ipc/checks.ts'
import type { FromServiceContent } from '../../../shared/ipc/service-messages.ts'
import type { ChildListeners } from '../../../supervisor/processes/child-process.ts'
import { createServiceKeeper, type ServiceEvent } from '../../../supervisor/services/service-keeper.ts'

function createKeeper() {
  const events: ServiceEvent[] = []
  const children: Array<{ listeners: ChildListeners; sent: Array<{ kind: string }>; isKilled: boolean }> = []
  const owners: number[] = []
  const replies: number[] = []
  const held: Array<[string, number]> = []
  let owner = 0
  const keeper = createServiceKeeper(
    {
      log: pino({ enabled: false }),
      nowMs: () => 0,
      random: () => 0,
      fork(listeners) {
        const child = { listeners, sent: [] as Array<{ kind: string }>, isKilled: false }
        children.push(child)
        return {
          pid: children.length,
          send: message => void child.sent.push(message as { kind: string }),
          kill() {
            child.isKilled = true
          }
        }
      },
      nextOwner() {
        owner -= 1
        return owner
      },
      onEvent: event => events.push(event),
      onMetrics: (_message, owner) => owners.push(owner),
      onCounters: reply => replies.push(reply.requestId),
      onHeld: ({ sink, count }) => held.push([sink, count])
    },
    {
      name: 'writer',
      configure: { settings: {}, socketPath: '/tmp/x', gatewayId: 'g', isQuiet: true, hasMetrics: true },
      startupTimeoutMs: 1_000_000,
      restartPolicy: {
        firstDelayMs: 0,
        longestDelayMs: 0,
        stableUptimeMs: 60_000,
        windowMs: 60_000,
        exitsInWindowMax: 3
      },
      healthPolicy: { pingIntervalMs: 1_000_000, unansweredPingsMax: 1 }
    }
  )
  const last = () => children[children.length - 1]
  return {
    keeper,
    events,
    children,
    owners,
    replies,
    held,
    receive: (content: FromServiceContent) => last()?.listeners.onMessage(createMessage(content)),
    exit: () => last()?.listeners.onExit({ code: 1, signal: null }),
    stopBySignal: () => last()?.listeners.onExit({ code: null, signal: 'SIGINT' }),
    async nextChild() {
      const count = children.length
      while (children.length === count) await new Promise(resolve => setImmediate(resolve))
    }
  }
}

t.test('the writer is configured, and its start is reported once', async t => {
  const { keeper, events, children, receive, exit, nextChild } = createKeeper()
  keeper.start()
  receive({ kind: 'service-online', pid: 1 })
  t.equal(children[0]?.sent[0]?.kind, 'configure-service')
  t.notOk(keeper.isReady)
  receive({ kind: 'service-ready' })
  t.ok(keeper.isReady)
  exit()
  await nextChild()
  receive({ kind: 'service-online', pid: 2 })
  receive({ kind: 'service-ready' })
  t.same(
    events.map(({ kind }) => kind),
    ['started', 'exited']
  )
  keeper.close()
  exit()
  t.same(
    events.slice(2).map(({ kind }) => kind),
    ['exited', 'closed']
  )
})

t.test('a failed first start is reported once and not repeated', async t => {
  for (const fail of [
    ({ receive, exit }: ReturnType<typeof createKeeper>) => {
      receive({ kind: 'service-failed', reason: 'configuration', detail: 'no table' })
      exit()
    },
    ({ exit }: ReturnType<typeof createKeeper>) => exit()
  ]) {
    const kept = createKeeper()
    kept.keeper.start()
    kept.receive({ kind: 'service-online', pid: 1 })
    fail(kept)
    for (let turn = 0; turn < 10; turn += 1) await new Promise(resolve => setImmediate(resolve))
    t.equal(kept.children.length, 1)
    t.equal(kept.events.filter(({ kind }) => kind === 'start-failed').length, 1)
    kept.keeper.close()
    t.equal(kept.events.at(-1)?.kind, 'closed')
  }
})

t.test('what the writer says it holds is passed on', async t => {
  const { keeper, held, receive, exit } = createKeeper()
  keeper.start()
  receive({ kind: 'service-online', pid: 1 })
  receive({ kind: 'records-held', sink: 'jsonl', count: 3 })
  t.same(held, [['jsonl', 3]])
  keeper.close()
  exit()
})

t.test('a writer that exits during its start is no failure where the gateway stops', async t => {
  const { keeper, events, children, exit } = createKeeper()
  keeper.start()
  keeper.giveUpStart()
  exit()
  for (let turn = 0; turn < 10; turn += 1) await new Promise(resolve => setImmediate(resolve))
  t.equal(children.length, 1, 'it is not started again')
  keeper.close()
  t.same(
    events.map(({ kind }) => kind),
    ['exited', 'closed']
  )
})

t.test('a writer that a signal stops during its start is started again', async t => {
  const { keeper, events, children, receive, stopBySignal, nextChild } = createKeeper()
  keeper.start()
  stopBySignal()
  await nextChild()
  receive({ kind: 'service-online', pid: 2 })
  t.equal(children[1]?.sent[0]?.kind, 'configure-service')
  stopBySignal()
  keeper.giveUpStart()
  for (let turn = 0; turn < 10; turn += 1) await new Promise(resolve => setImmediate(resolve))
  t.equal(children.length, 2)
  keeper.close()
  t.same(
    events.map(({ kind }) => kind),
    ['exited', 'exited', 'closed']
  )
})

t.test('a writer that signals stop again and again during its start is a failed start', async t => {
  const { keeper, events, children, stopBySignal, nextChild } = createKeeper()
  keeper.start()
  for (const restart of [1, 2, 3]) {
    stopBySignal()
    await nextChild()
    t.equal(children.length, restart + 1)
  }
  stopBySignal()
  t.equal(events.filter(({ kind }) => kind === 'start-failed').length, 1)
})

t.test('a writer that has started is started again while the workers close', async t => {
  const { keeper, events, receive, exit, nextChild } = createKeeper()
  keeper.start()
  receive({ kind: 'service-ready' })
  keeper.giveUpStart()
  exit()
  await nextChild()
  keeper.close()
  exit()
  t.equal(events.at(-1)?.kind, 'closed')
})

t.test('each process reports its metrics under a number of its own, and is asked for them', async t => {
  const { keeper, events, owners, children, receive, exit, nextChild } = createKeeper()
  keeper.start()
  receive({ kind: 'service-ready' })
  receive({ kind: 'metrics-collected', requestId: 1 })
  exit()
  t.same(events.at(-1), { kind: 'exited', owner: -1 })
  await nextChild()
  receive({ kind: 'metrics-collected', requestId: 2 })
  t.same(owners, [-1, -2])
  keeper.collectMetrics(5)
  t.match(children[1]?.sent.at(-1), { kind: 'metrics-collect', requestId: 5 })
  keeper.close()
  exit()
})

t.test('a writer that exits too fast does not end the gateway', async t => {
  const { keeper, events, children, receive, exit, nextChild } = createKeeper()
  keeper.start()
  receive({ kind: 'service-ready' })
  for (let count = 0; count < 3; count += 1) {
    exit()
    await nextChild()
  }
  exit()
  t.equal(children.length, 4, 'the next one comes after a pause')
  keeper.close()
  t.equal(events.at(-1)?.kind, 'closed')
  t.notOk(events.some(({ kind }) => kind === 'start-failed'))
})
