import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { connectPrivately, ensurePrivateFolder } from '../../../shared/private-folder.ts'
import { createSocketServer } from '../../../supervisor/processes/socket-server.ts'
import { waitUntil } from '../../support/processes.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

t.test('a socket whose folder was removed is made again, and its connections stay', async t => {
  const path = join(createTemporaryFolder(t), 'private', 'service.sock')
  const served: Socket[] = []
  const server = createSocketServer({ log: pino({ enabled: false }), serve: socket => served.push(socket.resume()) })
  await server.listen(path)
  t.teardown(() => server.close())
  const first = connectPrivately(path)
  t.teardown(() => first.destroy())
  await once(first, 'connect')
  rmSync(dirname(path), { recursive: true })
  await waitUntil(() => existsSync(path), 'the socket is made again')
  const second = connectPrivately(path)
  t.teardown(() => second.destroy())
  await once(second, 'connect')
  await waitUntil(() => served.length === 2, 'the second connection is served')
  t.equal(first.destroyed, false)
})

t.test('a socket that cannot be made again is told once, and made as soon as it can be', async t => {
  const path = join(createTemporaryFolder(t), 'private', 'service.sock')
  const checks = mock.timers
  checks.enable({ apis: ['setInterval'] })
  t.teardown(() => checks.reset())
  const events: string[] = []
  const log = pino({ base: null }, { write: line => events.push(JSON.parse(line).event) })
  const server = createSocketServer({ log, serve: () => undefined })
  t.teardown(() => server.close())
  await server.listen(path)
  const check = async () => {
    checks.tick(1_000)
    await turn()
  }
  rmSync(dirname(path), { recursive: true })
  writeFileSync(dirname(path), 'something else')
  for (let count = 0; count < 60; count += 1) await check()
  t.same(events, ['socket_lost'])
  await check()
  t.same(events, ['socket_lost', 'socket_lost'], 'and again after a minute')
  rmSync(dirname(path))
  await check()
  await waitUntil(() => events.length === 3, 'the socket is made again')
  t.equal(events[2], 'socket_made_again')
})

t.test('a folder that lets others in is used by no side', async t => {
  const path = join(createTemporaryFolder(t), 'shared', 'service.sock')
  mkdirSync(dirname(path))
  chmodSync(dirname(path), 0o755)
  const other = createServer()
  await new Promise<void>(resolve => other.listen(path, resolve))
  t.teardown(() => other.close())
  t.throws(() => ensurePrivateFolder(path), /belongs to another user/)
  const refused = connectPrivately(path)
  const [error] = await once(refused, 'error')
  t.match(error, /not private/)
})
