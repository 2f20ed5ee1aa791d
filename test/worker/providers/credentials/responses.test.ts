// What token servers send and what key files hold is read without trust (providers.md 2).

import t from 'tap'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import { readServiceAccountKey } from '../../../../worker/providers/credentials/service-account.ts'
import { readOAuthError } from '../../../../worker/providers/credentials/token-failure.ts'
import { readToken } from '../../../../worker/providers/credentials/token-server.ts'
import { CallFailure } from '../../../../worker/providers/http/call-failure.ts'
import * as fc from '../../../support/properties.ts'

function failWith(responseBody: Uint8Array): CallFailure {
  return new CallFailure(new GatewayError('provider_failure'), { status: 400, responseBody })
}

t.test('no response throws, no token shows itself, and a lifetime is above 0 or unknown', async t => {
  const members = fc.record({ access_token: fc.jsonValue(), expires_in: fc.jsonValue() }, { requiredKeys: [] })
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), members), body => {
      const token = readToken(body)
      if (token === undefined) return true
      const { value, lifetimeMs } = token
      return JSON.stringify(value) === '"[redacted]"' && (lifetimeMs === undefined || lifetimeMs > 0)
    })
  )
  t.pass()
})

t.test('an error id is a short word of lower case, or there is none', async t => {
  const error = fc.record({ error: fc.jsonValue() }, { requiredKeys: [] })
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        error.map(body => Buffer.from(JSON.stringify(body)))
      ),
      body => /^[a-z_]{0,40}$/.test(readOAuthError(failWith(body)) ?? '')
    )
  )
  for (const [text, id] of [
    ['{"error":"invalid_client"}', 'invalid_client'],
    ['{"error":"Invalid_client"}', undefined],
    ['{"error":"sk-123456"}', undefined],
    ['{"error":["invalid_client"]}', undefined],
    ['{"error":"invalid_client"', undefined],
    ['', undefined]
  ] as const) {
    t.equal(readOAuthError(failWith(Buffer.from(text))), id, text)
  }
})

t.test('a key is one of a service account, or none', async t => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), text => readServiceAccountKey(text) === undefined))
  const members = { type: 'service_account', client_email: 'a@b', private_key: 'k' }
  t.same(readServiceAccountKey(JSON.stringify(members)), {
    clientEmail: 'a@b',
    privateKey: 'k',
    privateKeyId: undefined,
    tokenUrl: 'https://oauth2.googleapis.com/token'
  })
  for (const wrong of [{ type: 'x' }, { client_email: 5 }, { private_key: null }, { token_uri: 5 }]) {
    t.equal(readServiceAccountKey(JSON.stringify({ ...members, ...wrong })), undefined)
  }
})
