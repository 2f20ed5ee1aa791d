import t from 'tap'
import { readRedisUrl } from '../../../shared/limits/redis-url.ts'
import { listLimitsSecrets, readLimitsSettings, writeLimitsSettings } from '../../../shared/settings/limits-settings.ts'
import { writeStoreSettings, writeWorkerSettings } from '../../../shared/settings/store-settings.ts'
import { writeWriterSettings } from '../../../shared/settings/writer-settings.ts'
import { parseSettings } from '../../../shared/settings.ts'

const URL_TEXT = 'rediss://gateway:canary%40redis@redis.example:6390/2'
const settings = parseSettings({ GATEWAY_API_KEY: 'hunter2-key', GATEWAY_LIMITS_REDIS_URL: URL_TEXT })

t.test('the process of shared limits gets its address, and no other process does', async t => {
  const written = writeLimitsSettings(settings)
  t.notMatch(JSON.stringify(written), /hunter2/)
  const read = readLimitsSettings(structuredClone(written))
  t.equal(read.limitsRedisUrl?.reveal(), URL_TEXT)
  t.equal(read.limitsPrefix, 'gateway:limits:')
  t.strictSame(listLimitsSecrets(read), [URL_TEXT, 'canary%40redis', 'canary@redis'])
  for (const write of [writeStoreSettings, writeWorkerSettings, writeWriterSettings]) {
    t.notMatch(JSON.stringify(write(settings)), /canary/)
  }
})

t.test('addresses of Redis', async t => {
  const plain = { isTls: false, host: 'localhost', port: 6379, database: 0, user: undefined, password: undefined }
  t.strictSame(readRedisUrl('redis://localhost'), plain)
  t.strictSame(readRedisUrl('redis://localhost/'), plain)
  t.strictSame(readRedisUrl('redis://:p%40ss@[::1]:7000/12'), {
    ...plain,
    host: '::1',
    port: 7000,
    database: 12,
    password: 'p@ss'
  })
  t.match(readRedisUrl(URL_TEXT), { isTls: true, host: 'redis.example', user: 'gateway', password: 'canary@redis' })
  for (const wrong of [
    ...['', 'localhost', 'localhost:6379', 'http://localhost', 'valkey://localhost', 'redis://', 'redis:///0'],
    ...['redis://localhost/a', 'redis://localhost/1/2', 'redis://localhost/-1', 'redis://localhost:x'],
    ...['redis://localhost?db=1', 'redis://localhost#1', 'redis://:a%zz@localhost']
  ]) {
    t.equal(readRedisUrl(wrong), undefined, wrong)
  }
})
