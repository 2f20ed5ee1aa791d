import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { createWriterSocket } from '../../supervisor/writer-socket.ts'

t.test('the folder is for this user alone, and goes with everything in it', async t => {
  const socket = createWriterSocket('linux')
  const folder = dirname(socket.path)
  t.equal(statSync(folder).mode & 0o777, 0o700)
  socket.remove()
  t.notOk(existsSync(folder))
})

t.test('a folder for temporary files whose path is too long for sockets is not used', async t => {
  const before = process.env.TMPDIR
  process.env.TMPDIR = join('/nowhere', 'x'.repeat(100))
  t.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })
  const socket = createWriterSocket('linux')
  t.match(socket.path, /^\/tmp\/llm-gateway-/)
  socket.remove()
})

t.test('Windows has pipes with names that cannot be guessed', async t => {
  const one = createWriterSocket('win32')
  t.match(one.path, /^\\\\\.\\pipe\\llm-gateway-[0-9a-f]{32}$/)
  t.not(one.path, createWriterSocket('win32').path)
  one.remove()
})
