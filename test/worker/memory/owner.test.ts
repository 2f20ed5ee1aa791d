import t from 'tap'
import { Secret } from '../../../shared/secrets/secret.ts'
import { readOwner } from '../../../worker/memory/owner.ts'
import { readPassToken } from '../../../worker/providers/pass-token.ts'

t.test('the owner is the name of the key, and nobody without authentication', async t => {
  const authorization = { type: 'server' } as const
  t.strictSame(readOwner({ apiKeyName: 'team', authorization }), { name: 'team' })
  t.strictSame(readOwner({ apiKeyName: undefined, authorization }), { name: '' })
})

t.test('under pass-through the owner is also the own credential, which cannot be read from it', async t => {
  const owners = [
    'upstream-auth-a',
    'upstream-auth-b',
    'upstream-cred-a',
    'upstream-cred-a:S',
    'upstream-user-a:b'
  ].map(token => readOwner({ apiKeyName: 'team', authorization: readPassToken(token) }))
  t.equal(new Set(owners.map(({ credential }) => credential)).size, owners.length)
  for (const { name, credential } of owners) {
    t.equal(name, 'team')
    t.match(credential, /^[\da-f]{64}$/)
  }
  const again = readOwner({ apiKeyName: 'team', authorization: { type: 'access-token', accessToken: new Secret('a') } })
  t.strictSame(again, owners[0])
})
