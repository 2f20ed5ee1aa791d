import { randomBytes } from 'node:crypto'
import t from 'tap'
import { readDsnPassword, readStoreDsn, readStoreKey } from '../../../shared/memory/dsn.ts'
import {
  listStoreSecrets,
  readStoreSettings,
  writeStoreSettings,
  writeWorkerSettings
} from '../../../shared/settings/store-settings.ts'
import { readTransferredSettings } from '../../../shared/settings/transfer.ts'
import { parseSettings } from '../../../shared/settings.ts'

const key = randomBytes(32).toString('base64')
const settings = parseSettings({
  GATEWAY_API_KEY: 'hunter2-key',
  UPSTREAM_CREDENTIALS: 'hunter2-credentials',
  GATEWAY_RESPONSES_STORE_DSN: 'postgres://user:p%40ss@host/database',
  GATEWAY_RESPONSES_STORE_KEY: key
})

t.test('the store process gets the secrets of its database alone', async t => {
  const written = writeStoreSettings(settings)
  t.notMatch(JSON.stringify(written), /hunter2/)
  const read = readStoreSettings(structuredClone(written))
  t.equal(read.responsesStoreDsn?.reveal(), 'postgres://user:p%40ss@host/database')
  t.equal(read.responsesStoreKey?.reveal(), key)
  t.equal(read.responsesStoreKeyPrevious, undefined)
  t.strictSame(listStoreSecrets(read), ['postgres://user:p%40ss@host/database', 'p@ss', key])
})

t.test('a worker gets everything but those', async t => {
  const written = writeWorkerSettings(settings)
  t.notMatch(JSON.stringify(written), /p%40ss/)
  t.notOk(JSON.stringify(written).includes(key))
  const read = readTransferredSettings(structuredClone(written))
  t.equal(read.apiKey?.reveal(), 'hunter2-key')
  t.equal(read.responsesStoreDsn, undefined)
  t.equal(read.responsesStoreRetentionDays, 30)
})

t.test('addresses of the store', async t => {
  t.strictSame(readStoreDsn('sqlite:responses.sqlite'), { kind: 'sqlite', location: 'responses.sqlite' })
  t.strictSame(readStoreDsn('sqlite:///var/lib/x.sqlite'), { kind: 'sqlite', location: '/var/lib/x.sqlite' })
  t.strictSame(readStoreDsn('sqlite:/var/lib/x.sqlite'), { kind: 'sqlite', location: '/var/lib/x.sqlite' })
  t.match(readStoreDsn('postgresql://host/x'), { kind: 'postgres' })
  for (const wrong of ['', 'sqlite:', 'sqlite::memory:', 'x.sqlite', 'redis://host', 'postgres://host:x/']) {
    t.equal(readStoreDsn(wrong), undefined, wrong)
  }
  t.equal(readDsnPassword('postgres://user:a%zz@host/x'), 'a%zz')
  t.equal(readDsnPassword('postgres://host/x'), undefined)
  t.equal(readDsnPassword('sqlite:x'), undefined)
})

t.test('a key is 32 bytes in base64 of either alphabet', async t => {
  const bytes = Buffer.alloc(32, 0xfb)
  t.same(readStoreKey(bytes.toString('base64')), bytes)
  t.same(readStoreKey(`${bytes.toString('base64url')}\n`), bytes)
  for (const wrong of ['', 'secret', bytes.toString('hex'), `${bytes.toString('base64')} x`, 'é'.repeat(43)]) {
    t.equal(readStoreKey(wrong), undefined, wrong)
  }
})
