import { performance } from 'node:perf_hooks'
import { setDefaultCACertificates } from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { withDeadline } from '../../../../shared/deadline.ts'
import { readRedisUrl } from '../../../../shared/limits/redis-url.ts'
import type { CounterQuestion } from '../../../../shared/limits/shared-counters.ts'
import { createRedisCounters, type RedisCounters } from '../../../../supervisor/limits/redis/client.ts'
import { COUNTER_TIMES } from '../../../../supervisor/limits/redis/exchange-format.ts'
import { createAuthority } from '../../../support/certificates.ts'
import { waitUntil } from '../../../support/processes.ts'
import { startRedis, whyWithoutRedis } from '../../../support/redis.ts'

const skip = whyWithoutRedis
/** As in `ops/guides/operations.md`. */
const RIGHTS = ['+@read', '+@write', '+@scripting', '+time', '+select']
const PASSWORD = 'canary p@ss/word'
/** An exchange waits 250 ms; the rest is for a loaded machine. */
const EXCHANGE_MS = 5_000
const HANGS = Symbol('hangs')
/** So many waits in a row would take longer than that. */
const MANY = 40
/** The lost connection and some attempts after it: each would write a warning if lines were not held back. */
const FAILURES = 4

interface Line {
  readonly level: number
  readonly event: string
  readonly cause?: string
}

interface Opened {
  readonly counters: RedisCounters
  readonly lines: readonly Line[]
  /** What was written, as text. */
  output(): string
  /** Spends; resolves with the sum, or with undefined. */
  spend(exchangeId: string, addNanos: number): Promise<number | undefined>
  /** Resolves when so many connections, or attempts to connect, have failed. */
  failed(count: number): Promise<void>
  /** Resolves when the server answers again. */
  recovered(): Promise<void>
}

async function open(t: Test, url: string): Promise<Opened> {
  const address = readRedisUrl(url)
  if (address === undefined) throw new Error('The address has another form.')
  let output = ''
  const lines: Line[] = []
  const log = pino(
    {},
    {
      write(line: string) {
        output += line
        lines.push(JSON.parse(line))
      }
    }
  )
  let failures = 0
  /** Asked for once after each failure, for the pause before the next attempt. */
  function random(): number {
    failures += 1
    return Math.random()
  }
  const counters = createRedisCounters(
    { log, nowMs: () => performance.now(), random },
    { address, prefix: 'test:', gatewayId: 'one', times: COUNTER_TIMES }
  )
  t.teardown(() => counters.close())
  await counters.tried
  return {
    counters,
    lines,
    output: () => output,
    async spend(exchangeId, addNanos) {
      const answers = await withDeadline(counters.exchange(exchangeId, [spendOf(addNanos)]), EXCHANGE_MS, HANGS)
      if (answers === HANGS) throw new Error('the exchange hangs')
      const [answer] = answers ?? []
      return answer?.kind === 'spend' ? answer.spentNanos : undefined
    },
    failed: count => waitUntil(() => failures >= count, `${count} connections have failed`, 15_000),
    recovered: () =>
      waitUntil(
        async () => (await counters.exchange('probe', [spendOf(0)])) !== undefined,
        'the server answers',
        15_000
      )
  }
}

const spendOf = (addNanos: number): CounterQuestion => ({
  kind: 'spend',
  counter: 'key:a:budget',
  period: 'total',
  addNanos
})

/** The causes of the warnings, in their order. */
const causesOf = (lines: readonly Line[]) => lines.filter(({ level }) => level === 40).map(({ cause }) => cause)

t.test('keys 13: a server that is killed answers nothing, and has lost nothing when it is back', { skip }, async t => {
  const server = await startRedis(t, { isDurable: true })
  const { spend, failed, recovered, lines } = await open(t, server.url)
  t.equal(await spend('1', 5), 5)
  await server.kill()
  for (let round = 0; round < 20; round++) t.equal(await spend(`lost ${round}`, 1), undefined)
  await failed(FAILURES)
  await server.start()
  await recovered()
  t.equal(await spend('lost 3', 7), 12, 'what an outage has kept back is added afterwards')
  t.same(causesOf(lines), ['unreachable'], 'one warning')
  t.equal(lines.filter(({ event }) => event === 'shared_limits_available').length, 1)
})

t.test('keys 13: a server that is away at the start is found later', { skip }, async t => {
  const server = await startRedis(t)
  await server.kill()
  const { spend, recovered, lines } = await open(t, server.url)
  t.equal(await spend('1', 5), undefined)
  await server.start()
  await recovered()
  t.equal(await spend('2', 5), 5)
  t.same(causesOf(lines), ['unreachable'])
})

t.test(
  'keys 13: a server that is stopped costs one wait, and what it carries out later counts once',
  { skip },
  async t => {
    const server = await startRedis(t)
    const { spend, recovered, lines } = await open(t, server.url)
    t.equal(await spend('1', 5), 5)
    server.pause()
    t.equal(await spend('2', 3), undefined)
    async function spendInTurn(): Promise<void> {
      for (let round = 0; round < MANY; round++) t.equal(await spend(`none ${round}`, 1), undefined)
    }
    const end = await withDeadline(spendInTurn(), EXCHANGE_MS, 'too late')
    t.equal(end, undefined, 'the others do not wait')
    server.resume()
    await recovered()
    t.equal(await spend('2', 3), 8)
    t.same(causesOf(lines), ['timeout'])
  }
)

t.test('keys 13: a wrong password is an outage with one warning, and stands nowhere', { skip }, async t => {
  const server = await startRedis(t, { args: ['--requirepass', PASSWORD] })
  await server.command('ACL', 'SETUSER', 'gateway', 'on', `>${PASSWORD}`, '~test:*', ...RIGHTS)
  await server.command('ACL', 'SETUSER', 'reader', 'on', `>${PASSWORD}`, '~test:*', '+@read')
  const secret = encodeURIComponent(PASSWORD)
  const at = `127.0.0.1:${server.port}`
  for (const wrong of [
    `redis://${at}`,
    `redis://:${secret}x@${at}`,
    `redis://other:${secret}@${at}`,
    `redis://reader:${secret}@${at}`
  ]) {
    const { spend, failed, lines, output, counters } = await open(t, wrong)
    await failed(FAILURES)
    t.equal(await spend('1', 5), undefined)
    t.same(causesOf(lines), ['access_denied'], wrong.replace(secret, '…'))
    t.notOk(output().includes(secret) || output().includes('canary'))
    await counters.close()
  }
  const { spend } = await open(t, `redis://gateway:${secret}@${at}/3`)
  t.equal(await spend('1', 5), 5)
  const byPassword = await open(t, `redis://:${secret}@${at}/3`)
  t.equal(await byPassword.spend('x', 0), 5, 'the database of the address')
})

t.test('keys 13: a replica is an outage until it is the primary', { skip }, async t => {
  const primary = await startRedis(t)
  const replica = await startRedis(t, { args: ['--replicaof', '127.0.0.1', String(primary.port)] })
  const before = await open(t, primary.url)
  t.equal(await before.spend('1', 5), 5)
  await waitUntil(
    async () => (await replica.command('GET', 'test:spend:total:key:a:budget')) === '5',
    'the replica has it'
  )
  const { spend, recovered, lines } = await open(t, replica.url)
  t.equal(await spend('1', 0), undefined, 'not even what it could read')
  t.same(causesOf(lines), ['read_only'])
  await replica.command('REPLICAOF', 'NO', 'ONE')
  await recovered()
  t.equal(await spend('2', 5), 10)
})

t.test('keys 13: a foreign value under the name of a counter is an outage, a full memory none', { skip }, async t => {
  const server = await startRedis(t)
  const { spend, lines } = await open(t, server.url)
  await server.command('RPUSH', 'test:spend:total:key:a:budget', 'x')
  t.equal(await spend('1', 5), undefined)
  await server.command('SET', 'test:spend:total:key:a:budget', 'not a number')
  t.equal(await spend('1', 5), undefined)
  await server.command('DEL', 'test:spend:total:key:a:budget')
  t.equal(await spend('1', 5), 5, 'a failed exchange has added nothing')
  await server.command('CONFIG', 'SET', 'maxmemory', '1')
  t.equal(await spend('2', 5), 10, 'a script that has begun to write may end')
  t.same(causesOf(lines), ['wrong_type'])
})

t.test('keys 12: a gateway that closes, or falls silent, gives its slots back', { skip }, async t => {
  const server = await startRedis(t)
  const slots = (hold: number): CounterQuestion[] => [{ kind: 'slots', counter: 's', limit: 4, hold }]
  const first = await open(t, server.url)
  await first.counters.exchange('1', slots(4))
  t.equal(await server.command('EXISTS', 'test:slots:s'), 1)
  const ttl = Number(await server.command('PTTL', 'test:slots:s'))
  t.ok(ttl > 25_000 && ttl <= 30_000, 'slots of a silent gateway are free after 30 s')
  await first.counters.close()
  t.equal(await server.command('EXISTS', 'test:slots:s'), 0)
  t.equal(await first.counters.exchange('2', slots(1)), undefined, 'a closed connection answers nothing')
})

t.test('keys 13: rediss:// trusts the authorities of the system and of Node', { skip }, async t => {
  const authority = createAuthority(t)
  const { certFile, keyFile } = authority.issue({ name: 'redis' })
  const server = await startRedis(t, {
    isTls: true,
    args: [
      '--tls-cert-file',
      certFile,
      '--tls-key-file',
      keyFile,
      '--tls-ca-cert-file',
      authority.certFile,
      '--tls-auth-clients',
      'no'
    ]
  })
  const refused = await open(t, server.url)
  t.equal(await refused.spend('1', 5), undefined)
  t.same(causesOf(refused.lines), ['tls_failed'])
  // As NODE_EXTRA_CA_CERTS does in a process of its own.
  setDefaultCACertificates([authority.cert])
  const { spend } = await open(t, server.url)
  t.equal(await spend('1', 5), 5)
})
