import t from 'tap'
import type { CounterAnswer, CounterQuestion } from '../../../shared/limits/shared-counters.ts'
import { createServiceCounters, type ServiceCountersDependencies } from '../../../supervisor/limits/service-counters.ts'
import { stepTimers } from '../../support/stepped-timers.ts'

type Exchange = Parameters<ServiceCountersDependencies['send']>[0]

const spend: CounterQuestion = { kind: 'spend', counter: 'key:a:budget', period: 'total', addNanos: 5 }
const spent: CounterAnswer = { kind: 'spend', spentNanos: 5 }

function create() {
  const sent: Exchange[] = []
  const state = { isReady: true }
  const counters = createServiceCounters({ isReady: () => state.isReady, send: exchange => sent.push(exchange) })
  const answer = (answers: CounterAnswer[] | null, index = sent.length - 1) =>
    counters.receive({ requestId: sent[index]?.requestId ?? 0, answers })
  return { counters, sent, state, answer }
}

t.test('an exchange resolves with the answers of the process', async t => {
  const { counters, sent, answer } = create()
  const exchange = counters.exchange('e1', [spend])
  t.match(sent, [{ kind: 'counters-exchange', exchangeId: 'e1', questions: [spend] }])
  answer([spent])
  t.same(await exchange, [spent])
  const none = counters.exchange('e2', [spend])
  answer(null)
  t.equal(await none, undefined)
  const short = counters.exchange('e3', [spend, spend])
  answer([spent])
  t.equal(await short, undefined, 'not an answer to each question')
})

t.test('keys 13: no exchange waits for a process that is silent, gone or overloaded', async t => {
  const pass = stepTimers(t)
  const { counters, sent, state, answer } = create()
  const silent = counters.exchange('silent', [spend])
  pass(250)
  t.equal(await silent, undefined)
  answer([spent])
  const lost = counters.exchange('lost', [spend])
  counters.forgetProcess()
  t.equal(await lost, undefined)
  state.isReady = false
  const count = sent.length
  t.equal(await counters.exchange('away', [spend]), undefined)
  t.equal(sent.length, count, 'nothing is sent to a process that is not ready')
  state.isReady = true
  const next = counters.exchange('next', [spend])
  answer([spent])
  t.same(await next, [spent], 'the next process is asked')
  const many = Array.from({ length: 1_001 }, (_, index) => counters.exchange(`many ${index}`, [spend]))
  t.equal(sent.length, count + 1_001, 'a bounded number waits')
  counters.close()
  t.ok((await Promise.all(many)).every(answers => answers === undefined))
  t.equal(await counters.exchange('closed', [spend]), undefined)
})

t.test('keys 12: slots are renewed until they are given back', async t => {
  const pass = stepTimers(t)
  const { counters, sent, answer } = create()
  const slots = (hold: number): CounterQuestion => ({ kind: 'slots', counter: 's', limit: 4, hold })
  void counters.exchange('1', [slots(3)])
  void counters.exchange('2', [slots(2)])
  for (const count of [3, 4]) {
    pass(10_000)
    t.equal(sent.length, count)
    t.match(sent.at(-1), { questions: [slots(2)] })
  }
  const count = sent.length
  const freed = counters.exchange('3', [slots(0)])
  pass(10_000)
  t.match(sent.at(-1), { questions: [slots(0)] }, 'also that they are free, until the place has heard it')
  answer([{ kind: 'slots', held: 0, remaining: 4 }])
  await freed
  pass(60_000)
  t.equal(sent.length, count + 2, 'nothing is held any more')
  void counters.exchange('4', [slots(3)])
  counters.giveBack()
  t.match(sent.at(-1), { questions: [slots(0)] })
  counters.close()
})
