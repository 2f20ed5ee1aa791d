import t from 'tap'
import { Secret } from '../../../../shared/secrets/secret.ts'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { type Attempt, Attempts, type AttemptsOptions } from '../../../../worker/providers/http/attempts.ts'
import { CallFailure } from '../../../../worker/providers/http/call-failure.ts'
import { type Credential, type CredentialSource, signWithHeader } from '../../../../worker/providers/http/credential.ts'
import { createSettingsRetries } from '../../../../worker/providers/http/retry.ts'
import type { CallContext } from '../../../../worker/providers/types.ts'
import { createMemoryLog } from '../support/log.ts'
import { contextOf } from '../support/native.ts'
import { rejection } from '../support/rejection.ts'

const refused = new CallFailure(new GatewayError('upstream_unauthorized'), { status: 401 })
const busy = new CallFailure(new GatewayError('provider_failure'), { status: 503 })

function credential(name: string, isFresh: boolean): Credential {
  return { sign: signWithHeader('authorization', new Secret(name), 'Bearer '), isFresh }
}

/** A source that gives these credentials or rejects with these errors in turn. */
function createSource(given: Array<Credential | Error>, isRenewable = true) {
  const rejected: Credential[] = []
  const source: CredentialSource = {
    find: () => undefined,
    async acquire() {
      const next = given.shift()
      if (next === undefined) throw new Error('No credential is left.')
      if (next instanceof Error) throw next
      return next
    },
    reject(credential) {
      rejected.push(credential)
      return isRenewable
    }
  }
  return { source, rejected, given }
}

function createAttempts(
  source: CredentialSource,
  { context = {}, ...more }: Partial<AttemptsOptions> & { context?: Partial<CallContext> } = {}
) {
  const memory = createMemoryLog()
  const attempts = new Attempts(
    {
      profileId: 'words-main',
      credentials: source,
      retryPolicy: createSettingsRetries({ retriesMax: 0, backoffSeconds: 0, statuses: [429, 503] }),
      lifetime: new AbortController().signal,
      log: memory.log,
      now: Date.now,
      random: () => 0,
      ...more
    },
    contextOf(context),
    'chat'
  )
  return { attempts, lines: memory.lines }
}

/** Begins as callers do. */
async function begin(attempts: Attempts): Promise<Attempt> {
  return attempts.tryBegin() ?? (await attempts.begin())
}

const twice = createSettingsRetries({ retriesMax: 2, backoffSeconds: 0, statuses: [429, 503] })

t.test(
  'decisions.md 47: a held credential that is refused is renewed once, and the second one is discarded too',
  async t => {
    const [old, renewed] = [credential('old', false), credential('new', true)]
    const { source, rejected } = createSource([old, renewed])
    const { attempts, lines } = createAttempts(source)
    t.same(await begin(attempts), { credential: old, number: 0, progress: 'queued', replacement: { isUsed: false } })
    await attempts.recover(refused, { canRetry: true })
    t.same(await begin(attempts), {
      credential: renewed,
      number: 0,
      progress: 'queued',
      replacement: { isUsed: false }
    })
    t.equal(await rejection(attempts.recover(refused, { canRetry: true })), refused.error)
    // The second refusal is the result of the call; the next call fetches again.
    t.same(rejected, [old, renewed])
    t.match(lines, [{ event: 'upstream_call_failed', status: 401, operation: 'chat' }])
  }
)

t.test('a credential that was fetched for the attempt is not renewed, but dropped', async t => {
  const fresh = credential('new', true)
  const { source, rejected, given } = createSource([fresh, credential('another', true)])
  const { attempts } = createAttempts(source)
  await begin(attempts)
  t.equal(await rejection(attempts.recover(refused, { canRetry: true })), refused.error)
  t.same(rejected, [fresh])
  t.equal(given.length, 1)
})

t.test('a credential that cannot be renewed fails the call at once', async t => {
  const { source } = createSource([credential('fixed', false)], false)
  const { attempts } = createAttempts(source)
  await begin(attempts)
  t.equal(await rejection(attempts.recover(refused, { canRetry: true })), refused.error)
})

t.test('each retry has its own number and its own renewal', async t => {
  const { source } = createSource(['a', 'b', 'c', 'd'].map(name => credential(name, false)))
  const { attempts } = createAttempts(source, { retryPolicy: { ...twice, statuses: [401] } })
  const numbers: number[] = []
  for (let count = 0; count < 4; count += 1) {
    numbers.push((await begin(attempts)).number)
    await attempts.recover(refused, { canRetry: true })
  }
  t.same(numbers, [0, 0, 1, 1])
})

t.test('retries end with the last failure and one line in the log', async t => {
  const { source } = createSource([1, 2, 3].map(number => credential(String(number), false)))
  const { attempts, lines } = createAttempts(source, { retryPolicy: twice })
  for (const number of [0, 1]) {
    t.equal((await begin(attempts)).number, number)
    await attempts.recover(busy, { canRetry: true })
  }
  t.equal((await begin(attempts)).number, 2)
  t.equal(await rejection(attempts.recover(busy, { canRetry: true })), busy.error)
  t.equal(lines.length, 1)
})

t.test('the failure of a token fetch passes the same decision as any other', async t => {
  const { source, rejected } = createSource([busy, credential('a', true), refused])
  const { attempts } = createAttempts(source, { retryPolicy: twice })
  await attempts.recover(await rejection(begin(attempts)), { canRetry: true })
  t.equal((await begin(attempts)).number, 1)
  await attempts.recover(busy, { canRetry: true })
  // The token server refused the account: that is no refusal of a token, and nothing is renewed.
  const thrown = await rejection(begin(attempts))
  t.equal(await rejection(attempts.recover(thrown, { canRetry: true })), refused.error)
  t.same(rejected, [])
})

t.test('there is no retry once the client has seen something, or when the executor closes', async t => {
  const seen = createAttempts(createSource([credential('a', false)]).source, { retryPolicy: twice })
  await begin(seen.attempts)
  t.equal(await rejection(seen.attempts.recover(busy, { canRetry: false })), busy.error)

  const closing = createAttempts(createSource([credential('a', false)]).source, {
    retryPolicy: twice,
    lifetime: AbortSignal.abort()
  })
  await begin(closing.attempts)
  t.equal(await rejection(closing.attempts.recover(busy, { canRetry: true })), busy.error)
})

t.test('an abort ends the delay at once and wins over every attempt', async t => {
  const abort = new AbortController()
  const { attempts, lines } = createAttempts(createSource([credential('a', false)]).source, {
    retryPolicy: twice,
    context: { signal: abort.signal }
  })
  await begin(attempts)
  const late = new CallFailure(new GatewayError('rate_limited'), { status: 429, retryAfter: '60' })
  const waiting = attempts.recover(late, { canRetry: true })
  setImmediate(() => abort.abort(new GatewayError('client_disconnected')))
  t.match(await rejection(waiting), { code: 'client_disconnected' })
  t.match(await rejection(begin(attempts)), { code: 'client_disconnected' })
  t.equal(lines.length, 0)
})

t.test('an error that is not a CallFailure is final and leaves no line', async t => {
  const { attempts, lines } = createAttempts(createSource([]).source, { retryPolicy: twice })
  const own = new GatewayError('gateway_overloaded')
  t.equal(await rejection(attempts.recover(own, { canRetry: true })), own)
  t.match(await rejection(attempts.recover(new RangeError('a bug'), { canRetry: true })), { code: 'internal_error' })
  t.equal(lines.length, 0)
})
