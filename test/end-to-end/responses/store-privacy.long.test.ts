// What the processes of a gateway that stores responses may know, and what they leave behind.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { readLog } from '../../support/gateway.ts'
import { readChildPids, waitUntil } from '../../support/processes.ts'
import { killStore, readStorePid, respond, startStoreGateway } from '../../support/store-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

/** Runs a gateway with a store and a traffic log, whose sockets are in a folder of the test. */
async function startBoth(t: Test) {
  const folder = createTemporaryFolder(t)
  const key = randomBytes(32).toString('base64')
  const gateway = await startStoreGateway(t, {
    env: {
      TMPDIR: folder,
      GATEWAY_RESPONSES_STORE_DSN: 'sqlite:hunter2.sqlite',
      GATEWAY_RESPONSES_STORE_KEY: key,
      GATEWAY_TRAFFIC_LOG_ENABLED: 'true',
      GATEWAY_TRAFFIC_LOG_SINK: 'jsonl',
      GATEWAY_TRAFFIC_LOG_JSONL_PATH: 'traffic.jsonl'
    }
  })
  return { gateway, key, listFolders: () => readdirSync(folder).filter(name => name.startsWith('llm-gateway-')) }
}

t.test('address and key of the database are in no environment of a child and in no line of the log', async t => {
  const { gateway, key, listFolders } = await startBoth(t)
  t.match((await respond(gateway, { input: 'hi' })).json, { store: true })
  t.equal(listFolders().length, 1, 'one folder for both sockets')
  const children = readChildPids(gateway.process.pid ?? 0)
  t.equal(children.length, 4, 'two workers, the writer and the store')
  t.ok(children.includes(readStorePid(gateway)))
  for (const pid of children) {
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
    t.notMatch(environment, 'hunter2')
    t.notOk(environment.includes(key))
  }
  await killStore(gateway)
  t.equal(await gateway.stop(), 0)
  t.same(listFolders(), [])
  const log = JSON.stringify(readLog(gateway))
  t.notMatch(log, 'hunter2')
  t.notOk(log.includes(key))
})

t.test('a killed supervisor leaves no store process and no folder', async t => {
  const { gateway, listFolders } = await startBoth(t)
  const pid = readStorePid(gateway)
  gateway.process.kill('SIGKILL')
  await waitUntil(() => listFolders().length === 0, 'the folder is removed')
  await waitUntil(() => !isAlive(pid), 'the store process has exited')
  t.notOk(isAlive(pid))
})

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
