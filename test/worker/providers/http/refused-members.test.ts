// What a worker remembers of optional members that a provider refuses (decisions.md 79).
import t from 'tap'
import { joinBytes } from '../../../../shared/bytes.ts'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { CallFailure } from '../../../../worker/providers/http/call-failure.ts'
import { RefusedMembers } from '../../../../worker/providers/http/refused-members.ts'
import type { ChatCall } from '../../../../worker/providers/types.ts'
import { compatibleCall } from '../support/compatible.ts'
import { createMemoryLog } from '../support/log.ts'
import { contextOf } from '../support/native.ts'

const HOUR_MS = 3_600_000

function failure(message: string, status = 400): CallFailure {
  const responseBody = Buffer.from(JSON.stringify({ error: { message } }))
  return new CallFailure(new GatewayError('upstream_rejected'), { status, responseBody })
}

const unknown = (name: string, status?: number) => failure(`Unknown parameter: '${name}'.`, status)

function start() {
  const memory = createMemoryLog()
  const clock = { nowMs: 0 }
  const refused = new RefusedMembers({ log: memory.log, now: () => clock.nowMs })
  const noted: string[] = []
  const open = (alias = 'a', more: Partial<ChatCall> = {}) => {
    const call = compatibleCall()
    const plan = { ...call.plan, publicModel: alias }
    return refused.open({ ...call, ...more, plan }, { ...contextOf(), onLeftOut: paths => void noted.push(...paths) })
  }
  const learn = (alias: string, name: string) => {
    const fallback = open(alias)
    t.ok(fallback.revise(Buffer.from(JSON.stringify({ model: 'm', [name]: 1 })), unknown(name)))
    fallback.confirm()
  }
  return { memory, clock, refused, open, learn, noted }
}

t.test('an alias goes without a refused member for an hour', async t => {
  const { clock, open, learn, memory, noted } = start()
  const body = Buffer.from('{"model":"m","metadata":{"a":1},"service_tier":"flex"}')
  t.equal(open().prepare(body), body, 'nothing is copied while nothing is known')
  learn('a', 'metadata')
  learn('a', 'metadata')
  t.strictSame(noted.splice(0), ['metadata', 'metadata'])
  const prepared = open().prepare(body)
  t.equal(joinBytes(prepared).toString(), '{"model":"m","service_tier":"flex"}')
  t.strictSame(noted, ['metadata'])
  t.equal(open('b').prepare(body), body, 'another alias is not concerned')
  const without = Buffer.from('{"model":"m"}')
  t.equal(open().prepare(without), without)
  clock.nowMs = HOUR_MS / 2
  learn('a', 'service_tier')
  t.equal(joinBytes(open().prepare(body)).toString(), '{"model":"m"}')
  clock.nowMs = HOUR_MS
  t.equal(joinBytes(open().prepare(body)).toString(), '{"model":"m","metadata":{"a":1}}')
  clock.nowMs = 2 * HOUR_MS
  t.equal(open().prepare(body), body)
  const warnings = memory.lines.filter(({ event }) => event === 'upstream_option_refused')
  t.match(warnings, [
    { level: 40, alias: 'a', option: 'metadata' },
    { alias: 'a', option: 'service_tier' }
  ])
  t.equal(warnings.length, 2, 'once for each')
})

t.test('what is not confirmed is not remembered', async t => {
  const { open } = start()
  const body = Buffer.from('{"metadata":1}')
  t.ok(open().revise(body, unknown('metadata')))
  open().confirm()
  t.equal(open().prepare(body), body)
})

t.test('only a refusal of a member that is there has another body', async t => {
  const { open } = start()
  const body = Buffer.from('{"metadata":1}')
  for (const status of [401, 404, 409, 429, 500]) t.notOk(open().revise(body, unknown('metadata', status)), `${status}`)
  t.ok(open().revise(body, unknown('metadata', 422)))
  t.notOk(open().revise(body, unknown('service_tier')))
  t.notOk(open().revise(body, failure('Invalid metadata.')))
  t.notOk(open().revise(body, new CallFailure(new GatewayError('provider_failure'), { status: 400 })))
  t.notOk(open().revise(Buffer.from('no JSON'), unknown('metadata')))
  t.notOk(open('a', { refusesUnsupported: true }).revise(body, unknown('metadata')))
})

t.test('the memory is bounded', async t => {
  const { open, learn } = start()
  const body = Buffer.from('{"metadata":1}')
  for (let number = 0; number <= 1000; number++) learn(`a${number}`, 'metadata')
  t.equal(open('a0').prepare(body), body, 'the oldest alias is forgotten')
  t.not(open('a1').prepare(body), body)
})
