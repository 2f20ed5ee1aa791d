// A credential that a client brings for the upstream appears in no error and in no log line, also when the upstream repeats it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { emulatorVariables, startEmulator, startGateway } from '../../support/gateway.ts'
import { lastReceived } from '../../support/upstream.ts'
import { askIn, families, readError } from '../system/support.ts'

const ACCESS_TOKEN = 'opaque.access-token_of.a.client'
const emulator = await startEmulator(t, { accessTokens: [ACCESS_TOKEN] })
// At this level of the log the bodies for the upstream are logged too.
const env = { ...emulatorVariables(emulator), GATEWAY_PASS_TOKEN: 'true', GATEWAY_LOG_LEVEL: 'DEBUG' }
const gateway = await startGateway(t, { env })

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const PAIR = 'client-a:a-long-client-secret'

/** The bearer token of each form, and the texts of it that an upstream may have received. */
const forms: ReadonlyArray<readonly [token: string, secrets: readonly string[]]> = [
  [`upstream-auth-${ACCESS_TOKEN}`, [ACCESS_TOKEN]],
  [`upstream-cred-${base64(PAIR)}`, [base64(PAIR), PAIR, 'a-long-client-secret']],
  [`upstream-cred-${base64('client-b:another-secret')}:GIGACHAT_API_CORP`, [base64('client-b:another-secret')]],
  ['upstream-user-ann:pass:word', ['pass:word', base64('ann:pass:word')]]
]

t.test('cost 14: a credential of a client that the upstream repeats is masked in every error', async t => {
  for (const [token, given] of forms) {
    const headers = { authorization: `Bearer ${token}` }
    t.equal((await askIn(gateway, 'completions', 'hi', { headers })).status, 200, token)
    // What was fetched with the credential is as secret as the credential.
    const sent = String(lastReceived(emulator, '/chat/completions').headers.authorization).replace('Bearer ', '')
    for (const secret of new Set([...given, sent])) {
      for (const family of families) {
        const refused = await askIn(gateway, family, `[[error:422 message=no ${secret} here]]`, { headers })
        t.equal(refused.status, 422, family)
        // A fetched token is longer than the message may be.
        t.match(readError(family, refused).message, /^no \*\*\*( here)?$/, `${family} ${secret}`)
        const prompt = `[[errframe:500 message=no ${secret} here]]`
        const failed = await askIn(gateway, family, prompt, { headers, stream: true })
        t.equal(failed.status, 200, family)
        t.match(failed.text, /no \*\*\*/, `${family} ${secret}`)
        t.notOk(failed.text.includes(secret), family)
      }
    }
  }
})

t.test('cost 14: a credential that the end of a long message cuts is masked too', async t => {
  for (const [token, [secret = '']] of forms) {
    if (secret.length < 20) continue
    const prompt = `[[error:422 message=${'x '.repeat(492)}${secret}]]`
    const refused = await askIn(gateway, 'completions', prompt, { headers: { authorization: `Bearer ${token}` } })
    t.match(readError('completions', refused).message, /^(x )+\*\*\*$/)
  }
})

t.test('cost 14: no log line shows a credential of a client', async t => {
  t.equal(await gateway.stop(), 0)
  const log = readFileSync(join(gateway.folder, 'gateway.log'), 'utf8')
  t.match(log, /no \*\*\* here/, 'the bodies were logged')
  for (const [, secrets] of forms) for (const secret of secrets) t.notOk(log.includes(secret), secret)
})
