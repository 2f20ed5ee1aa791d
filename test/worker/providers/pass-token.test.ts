import t from 'tap'
import { GatewayError } from '../../../worker/normalized/index.ts'
import { isPassToken, readPassToken } from '../../../worker/providers/pass-token.ts'

t.test('operations 39, 40: each prefix is read into its kind of authorization', async t => {
  const token = readPassToken('upstream-auth-abc')
  t.ok(token.type === 'access-token' && token.accessToken.reveal() === 'abc')
  const scoped = readPassToken('upstream-cred-x:SCOPE')
  t.ok(scoped.type === 'credentials' && scoped.credentials.reveal() === 'x' && scoped.scope === 'SCOPE')
  const unscoped = readPassToken('upstream-cred-x==')
  t.ok(
    unscoped.type === 'credentials' && unscoped.credentials.reveal() === 'x==' && unscoped.scope === 'GIGACHAT_API_PERS'
  )
  const user = readPassToken('upstream-user-me:pa:ss')
  t.ok(user.type === 'user' && user.user === 'me' && user.password.reveal() === 'pa:ss')
})

const malformed = [
  'upstream-cred-',
  'upstream-cred-x:',
  'upstream-cred-:SCOPE',
  'upstream-cred-x: ',
  'upstream-user-a',
  'upstream-user-a:',
  'upstream-user-:b',
  'upstream-auth-',
  'upstream-auth- ',
  'zzz',
  'UPSTREAM-AUTH-abc'
]

t.test('operations 41: a malformed token is refused with a text that does not hold it', async t => {
  for (const token of malformed) {
    try {
      readPassToken(token)
      t.fail(`${token} was accepted`)
    } catch (error) {
      t.ok(GatewayError.is(error) && error.code === 'invalid_upstream_authorization' && error.status === 400, token)
      t.equal((error as Error).message, 'Invalid upstream pass-through token')
      t.equal((error as Error).cause, undefined)
    }
  }
})

t.test('only the three prefixes claim to be upstream authorization', async t => {
  for (const token of ['upstream-auth-', 'upstream-cred-x', 'upstream-user-a:b']) t.ok(isPassToken(token), token)
  for (const token of ['k1', 'upstream-', 'Upstream-auth-a']) t.notOk(isPassToken(token), token)
})

t.test('printed, an authorization shows no secret (M2)', async t => {
  for (const token of ['upstream-auth-hush', 'upstream-cred-hush:S', 'upstream-user-me:hush']) {
    t.notMatch(JSON.stringify(readPassToken(token)), /hush/)
  }
})
