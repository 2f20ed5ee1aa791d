import t from 'tap'
import { deriveCompactionKey, readCompactionKey, writeCompactionKey } from '../../shared/compaction-key.ts'
import { parseSettings } from '../../shared/settings.ts'

const derive = (env: Record<string, string>) => deriveCompactionKey(parseSettings(env))
const STORE_KEY = Buffer.alloc(32, 5).toString('base64')

t.test('memory 18: the key is the same for every process with the same setting', async t => {
  const own = derive({ GATEWAY_FINGERPRINT_KEY: 'a secret' })
  t.strictSame(derive({ GATEWAY_FINGERPRINT_KEY: 'a secret' }), own)
  t.equal(own.isLasting, true)
  t.equal(own.key.length, 32)
  t.notSame(derive({ GATEWAY_FINGERPRINT_KEY: 'another' }).key, own.key)
  t.strictSame(derive({ GATEWAY_FINGERPRINT_KEY: 'a secret', GATEWAY_RESPONSES_STORE_KEY: STORE_KEY }).key, own.key)
  t.strictSame(readCompactionKey(writeCompactionKey(own)).key, new Uint8Array(own.key))
})

t.test('memory 18: the key of the store serves where it is the only one', async t => {
  const own = derive({ GATEWAY_RESPONSES_STORE_KEY: STORE_KEY })
  t.strictSame(derive({ GATEWAY_RESPONSES_STORE_KEY: STORE_KEY }), own)
  t.equal(own.isLasting, true)
})

t.test('without a setting the key is random, and says so', async t => {
  const own = derive({})
  t.equal(own.isLasting, false)
  t.notSame(derive({}).key, own.key)
})
