// Fingerprints of keys and addresses (operations.md 3.1).

import { createHmac } from 'node:crypto'
import t from 'tap'
import { createFingerprint } from '../../../../worker/http/request/fingerprint.ts'

const key = Buffer.alloc(32, 7)

function compute(value: string): string {
  return `hmac-sha256:${createHmac('sha256', key).update(value).digest('hex').slice(0, 16)}`
}

t.test('a fingerprint is the same each time, and another one for another value or key', async t => {
  const fingerprint = createFingerprint(key)
  t.equal(fingerprint('k1'), compute('k1'))
  t.equal(fingerprint('k1'), compute('k1'))
  t.not(fingerprint('k1'), fingerprint('k2'))
  t.not(fingerprint('k1'), createFingerprint(Buffer.alloc(32, 8))('k1'))
})

t.test('more values than are remembered get the right fingerprints', async t => {
  const fingerprint = createFingerprint(key)
  const values = Array.from({ length: 600 }, (_, index) => `key-${index}`)
  for (const value of [...values, ...values]) if (fingerprint(value) !== compute(value)) t.fail(value)
  t.equal(fingerprint('key-0'), compute('key-0'))
})
