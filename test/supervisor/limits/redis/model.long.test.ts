import { pino } from 'pino'
import t from 'tap'
import { readRedisUrl } from '../../../../shared/limits/redis-url.ts'
import type { CounterQuestion } from '../../../../shared/limits/shared-counters.ts'
import { createRedisCounters } from '../../../../supervisor/limits/redis/client.ts'
import { createCounterModel } from '../../../support/counter-model.ts'
import * as fc from '../../../support/properties.ts'
import { redisServers, startRedis } from '../../../support/redis.ts'

const GATEWAYS = ['one', 'two', 'three']
const TIMES = { windowMs: 600, bucketMs: 100, leaseMs: 250 }
/** Two buckets, and two more where what is given back meets a neighbour of its bucket. */
const SLACK_MS = 4 * TIMES.bucketMs
const LIMIT = 20

const gateway = fc.constantFrom(...GATEWAYS)
/** Real time before a step, an input of the property: the server tells the age of what was taken by its own clock. */
const pauseMs = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 150 }) },
  { weight: 1, arbitrary: fc.constant(1_000) }
)
const step = fc.record({
  gateway,
  pauseMs,
  take: fc.integer({ min: 0, max: 30 }),
  /** Of the newest grants, as many as there are. */
  givenBack: fc.array(fc.integer({ min: -3, max: 5 }), { maxLength: 2 }),
  hold: fc.option(fc.integer({ min: 0, max: 6 })),
  slotLimit: fc.constantFrom(4, 4, 4, 2),
  addNanos: fc.option(fc.integer({ min: 0, max: 1e12 })),
  period: fc.constantFrom('2026-11-01', 'total'),
  isRepeated: fc.boolean()
})

for (const { program, skip } of redisServers) {
  t.test(`keys 12: ${program} answers as a list of everything that was taken`, { skip }, async t => {
    const { url } = await startRedis(t, { program })
    const address = readRedisUrl(url)
    if (address === undefined) throw new Error('The address has another form.')
    let runs = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async steps => {
        runs += 1
        const model = createCounterModel({ ...TIMES, slackMs: SLACK_MS })
        const clients = new Map(
          GATEWAYS.map(gatewayId => {
            const options = { address, prefix: `run ${runs}:`, gatewayId, times: TIMES }
            const log = pino({ enabled: false })
            return [gatewayId, createRedisCounters({ log, nowMs: () => performance.now(), random: () => 0 }, options)]
          })
        )
        await Promise.all([...clients.values()].map(({ tried }) => tried))
        /** The time of this process at which each grant was answered, by the time of the server. */
        const answeredMs = new Map<number, number>()
        /** Of the latest answer. */
        let latest = { serverMs: 0, ownMs: 0 }
        try {
          for (const [index, one] of steps.entries()) {
            if (one.pauseMs > 0) await new Promise(resolve => setTimeout(resolve, one.pauseMs))
            const client = clients.get(one.gateway)
            const questions = askFor(one)
            const askedMs = performance.now()
            const reply = await client?.ask(String(index), questions)
            if (reply === undefined) throw new Error('There is no answer.')
            // A loaded machine tells nothing about ages.
            if (performance.now() - askedMs > TIMES.bucketMs) return
            latest = { serverMs: reply.serverMs, ownMs: performance.now() }
            answeredMs.set(latest.serverMs, latest.ownMs)
            const faults = model.check(one.gateway, questions, reply)
            if (faults.length > 0) throw new Error(`${faults.join('; ')}; asked ${JSON.stringify(questions)}`)
            const spends = questions.filter(({ kind }) => kind === 'spend')
            if (!one.isRepeated || spends.length === 0) continue
            const again = await client?.ask(String(index), spends)
            const first = reply.answers.filter(({ kind }) => kind === 'spend')
            if (JSON.stringify(again?.answers) !== JSON.stringify(first)) throw new Error('Repeated spend was added.')
          }
        } finally {
          await Promise.all([...clients.values()].map(client => client.close()))
        }

        /** What was used beyond a grant has no answer of its own: its time is that of the server. */
        function readAge(serverMs: number): number {
          const ownMs = answeredMs.get(serverMs) ?? latest.ownMs + serverMs - latest.serverMs
          return Math.max(0, Math.round(performance.now() - ownMs))
        }

        function askFor({
          take,
          givenBack,
          hold,
          slotLimit,
          addNanos,
          period
        }: (typeof steps)[number]): CounterQuestion[] {
          const grants = model.grants('w')
          const back = givenBack.flatMap((amount, index) => {
            const grant = grants[index]
            if (amount === 0 || (amount > 0 && grant === undefined)) return []
            const within = amount > 0 ? Math.min(amount, grant?.amount ?? 0) : amount
            return [{ amount: within, ageMs: grant === undefined ? 0 : readAge(grant.atMs) }]
          })
          return [
            { kind: 'window', counter: 'w', limit: LIMIT, take, givenBack: back },
            ...(hold === null ? [] : [{ kind: 'slots', counter: 's', limit: slotLimit, hold } as const]),
            ...(addNanos === null ? [] : [{ kind: 'spend', counter: 'b', period, addNanos } as const])
          ]
        }
      }),
      { numRuns: 40, endOnFailure: true }
    )
  })
}
