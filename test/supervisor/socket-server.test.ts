import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { connectPrivately, ensurePrivateFolder } from '../../shared/private-folder.ts'
import { createSocketServer } from '../../supervisor/socket-server.ts'
import { createTemporaryFolder } from '../support/temporary.ts'

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
  while (!existsSync(path)) await pause(10)
  const second = connectPrivately(path)
  t.teardown(() => second.destroy())
  await once(second, 'connect')
  while (served.length < 2) await pause(10)
  t.equal(first.destroyed, false)
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
