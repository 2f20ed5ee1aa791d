import t from 'tap'
import { Secret } from '../../../../shared/secrets/secret.ts'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import {
  createTokenSource,
  signWithToken,
  type TokenSourceOptions
} from '../../../../worker/providers/credentials/token-source.ts'
import { CallFailure } from '../../../../worker/providers/http/call-failure.ts'
import { type Credential, createFixedCredential, signNothing } from '../../../../worker/providers/http/credential.ts'
import { readTokenResponse } from '../../../../worker/providers/native/token-response.ts'
import * as fc from '../../../support/properties.ts'
import { rejection } from '../support/rejection.ts'

const caller = { signal: new AbortController().signal, headers: [] }
const HALF_HOUR_MS = 1_800_000

/** The token with which a credential signs a request. */
function tokenOf(credential: Credential | undefined): string | undefined {
  const signature = credential?.sign({ method: 'POST', url: 'https://api.test/', headers: [] })
  if (signature instanceof Promise) throw new Error('A token that is held signs without waiting.')
  return signature?.headers[1]?.replace('Bearer ', '')
}

function createSource(more: Partial<TokenSourceOptions> = {}) {
  const clock = { nowMs: 1_000_000_000_000 }
  const fetches: Array<{ resolve: (lifetimeMs: number | undefined) => void; reject: (reason: unknown) => void }> = []
  const source = createTokenSource({
    fetchToken: () =>
      new Promise((resolve, reject) => {
        const number = fetches.length + 1
        fetches.push({ resolve: lifetimeMs => resolve({ value: new Secret(`token-${number}`), lifetimeMs }), reject })
      }),
    bufferMs: lifetimeMs => Math.min(60_000, lifetimeMs / 2),
    monotonicMs: () => clock.nowMs,
    random: () => 0,
    ...more
  })
  return { source, clock, fetches }
}

t.test('two hundred callers wait for one fetch (N5)', async t => {
  const { source, fetches } = createSource()
  t.equal(source.find(caller), undefined, 'no token is there yet, and looking fetches none')
  const waits = Array.from({ length: 200 }, () => source.acquire(caller))
  t.equal(fetches.length, 1)
  fetches[0]?.resolve(HALF_HOUR_MS)
  const tokens = await Promise.all(waits)
  t.equal(new Set(tokens).size, 1)
  t.equal(tokenOf(tokens[0]), 'token-1')
  t.equal(source.find(caller), await source.acquire(caller))
  t.equal(fetches.length, 1)
})

t.test('inside the buffer the old token is used while one fetch replaces it', async t => {
  const { source, clock, fetches } = createSource()
  const first = source.acquire(caller)
  fetches[0]?.resolve(HALF_HOUR_MS)
  await first
  clock.nowMs += HALF_HOUR_MS - 60_001
  t.equal(tokenOf(await source.acquire(caller)), 'token-1')
  t.equal(fetches.length, 1)
  clock.nowMs += 1
  t.equal(tokenOf(await source.acquire(caller)), 'token-1')
  t.equal(tokenOf(await source.acquire(caller)), 'token-1')
  t.equal(fetches.length, 2)
  fetches[1]?.resolve(HALF_HOUR_MS)
  await new Promise(setImmediate)
  t.equal(tokenOf(await source.acquire(caller)), 'token-2')
})

t.test('only calls that waited for its fetch get a token as fresh', async t => {
  const { source, fetches } = createSource()
  const waits = [source.acquire(caller), source.acquire(caller)]
  fetches[0]?.resolve(HALF_HOUR_MS)
  t.same(
    (await Promise.all(waits)).map(credential => credential.isFresh),
    [true, true]
  )
  const held = await source.acquire(caller)
  t.equal(held.isFresh, false)
  t.equal(tokenOf(held), 'token-1')
  source.reject(held)
  void source.acquire(caller)
  t.equal(fetches.length, 2)
})

t.test('the moment of replacement is spread over the first half of the buffer', async t => {
  const { source, clock, fetches } = createSource({ random: () => 0.999 })
  const first = source.acquire(caller)
  fetches[0]?.resolve(HALF_HOUR_MS)
  await first
  clock.nowMs += HALF_HOUR_MS - 31_000
  await source.acquire(caller)
  t.equal(fetches.length, 1)
  clock.nowMs += 1_500
  await source.acquire(caller)
  t.equal(fetches.length, 2)
})

t.test('a failed replacement leaves the old token and is not repeated by every call', async t => {
  const { source, clock, fetches } = createSource()
  const first = source.acquire(caller)
  fetches[0]?.resolve(HALF_HOUR_MS)
  await first
  clock.nowMs += HALF_HOUR_MS - 50_000
  await source.acquire(caller)
  fetches[1]?.reject(new CallFailure(new GatewayError('provider_failure')))
  await new Promise(setImmediate)
  t.equal(tokenOf(await source.acquire(caller)), 'token-1')
  t.equal(fetches.length, 2)
  clock.nowMs += 5_000
  t.equal(tokenOf(await source.acquire(caller)), 'token-1')
  t.equal(fetches.length, 3)
})

t.test('an expired token is never sent', async t => {
  const { source, clock, fetches } = createSource()
  const first = source.acquire(caller)
  fetches[0]?.resolve(HALF_HOUR_MS)
  await first
  clock.nowMs += HALF_HOUR_MS - 999
  const second = source.acquire(caller)
  t.equal(fetches.length, 2)
  fetches[1]?.resolve(HALF_HOUR_MS)
  t.equal(tokenOf(await second), 'token-2')
})

t.test('a token whose lifetime is shorter than the buffer is not fetched for each call', async t => {
  const { source, clock, fetches } = createSource()
  const first = source.acquire(caller)
  fetches[0]?.resolve(20_000)
  await first
  clock.nowMs += 5_000
  await source.acquire(caller)
  t.equal(fetches.length, 1)
})

t.test('a refusal invalidates only the token it was about', async t => {
  const { source, fetches } = createSource()
  const waiting = source.acquire(caller)
  fetches[0]?.resolve(HALF_HOUR_MS)
  const old = await waiting
  t.equal(source.reject(old), true)
  const renewing = source.acquire(caller)
  t.equal(fetches.length, 2)
  fetches[1]?.resolve(HALF_HOUR_MS)
  await renewing
  t.equal(source.reject(old), true)
  t.equal(tokenOf(await source.acquire(caller)), 'token-2')
  t.equal(fetches.length, 2)
})

t.test('a given token is used first and replaced after a refusal', async t => {
  const { source, fetches } = createSource({ givenToken: new Secret('given') })
  const given = await source.acquire(caller)
  t.equal(tokenOf(given), 'given')
  t.equal(fetches.length, 0)
  source.reject(given)
  const renewing = source.acquire(caller)
  fetches[0]?.resolve(HALF_HOUR_MS)
  t.equal(tokenOf(await renewing), 'token-1')
})

t.test('a token without an expiry is used until it is refused', async t => {
  const { source, clock, fetches } = createSource()
  const waiting = source.acquire(caller)
  fetches[0]?.resolve(undefined)
  await waiting
  clock.nowMs += 10 * HALF_HOUR_MS
  await source.acquire(caller)
  t.equal(fetches.length, 1)
})

t.test('a fixed token cannot be renewed', async t => {
  const source = createFixedCredential(signWithToken(new Secret('fixed')))
  const token = await source.acquire(caller)
  t.equal(tokenOf(token), 'fixed')
  t.equal(source.reject(token), false)
  t.equal(token.isFresh, false)
  t.equal(tokenOf(await createFixedCredential(signNothing).acquire(caller)), undefined)
})

t.test('the failure of a fetch is kept for a moment, the refusal of a credential for longer', async t => {
  const refused = createSource()
  const first = refused.source.acquire(caller)
  const refusal = new CallFailure(new GatewayError('upstream_unauthorized'), { status: 401 })
  refused.fetches[0]?.reject(refusal)
  t.equal(await rejection(first), refusal)
  refused.clock.nowMs += 4_999
  t.equal(await rejection(refused.source.acquire(caller)), refusal)
  t.equal(refused.fetches.length, 1)
  refused.clock.nowMs += 1
  void refused.source.acquire(caller)
  t.equal(refused.fetches.length, 2)

  const down = createSource()
  const second = down.source.acquire(caller)
  down.fetches[0]?.reject(new CallFailure(new GatewayError('provider_failure')))
  await rejection(second)
  down.clock.nowMs += 399
  await rejection(down.source.acquire(caller))
  t.equal(down.fetches.length, 1)
  down.clock.nowMs += 1
  void down.source.acquire(caller)
  t.equal(down.fetches.length, 2)
})

t.test('the abort of a caller does not end the fetch of the others', async t => {
  const { source, fetches } = createSource()
  const abort = new AbortController()
  const leaving = source.acquire({ ...caller, signal: abort.signal })
  const staying = source.acquire(caller)
  abort.abort(new GatewayError('client_disconnected'))
  await t.rejects(leaving, { code: 'client_disconnected' })
  fetches[0]?.resolve(HALF_HOUR_MS)
  t.equal(tokenOf(await staying), 'token-1')
})

t.test('both forms of a token response are read, in seconds and in milliseconds', async t => {
  const rows: Array<[unknown, string | undefined, number | undefined]> = [
    [{ access_token: 'a', expires_at: 1_767_227_400_000 }, 'a', 1_767_227_400_000],
    [{ access_token: 'a', expires_at: 1_767_227_400 }, 'a', 1_767_227_400_000],
    [{ tok: 't', exp: 1_767_227_400 }, 't', 1_767_227_400_000],
    [{ tok: 't', exp: '1767227400' }, 't', 1_767_227_400_000],
    [{ tok: 't', exp: 1, access_token: 'a', expires_at: 2 }, 't', 1000],
    [{ tok: '', access_token: 'a', expires_at: 2 }, 'a', 2000],
    [{ access_token: 'a' }, 'a', undefined],
    [{ access_token: 'a', expires_at: 0 }, 'a', undefined],
    [{ access_token: 'a', expires_at: 'soon' }, 'a', undefined],
    [{ access_token: 5 }, undefined, undefined],
    [{}, undefined, undefined],
    [null, undefined, undefined],
    ['a', undefined, undefined]
  ]
  for (const [body, value, expiresAtMs] of rows) {
    const token = readTokenResponse(body)
    t.equal(token?.value.reveal(), value, JSON.stringify(body))
    t.equal(token?.expiresAtMs, expiresAtMs, JSON.stringify(body))
  }
})

t.test('no response of a token server throws, and none shows its token when printed', async t => {
  fc.assert(
    fc.property(fc.jsonValue(), body => {
      const token = readTokenResponse(body)
      t.equal(token === undefined || JSON.stringify(token.value) === '"[redacted]"', true)
    })
  )
})
