import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { createPrivateSockets } from '../../../supervisor/services/private-sockets.ts'

t.test('the folder is for this user alone, and goes with everything in it', async t => {
  const sockets = createPrivateSockets('linux')
  const folder = dirname(sockets.path('writer'))
  t.equal(statSync(folder).mode & 0o777, 0o700)
  sockets.remove()
  t.notOk(existsSync(folder))
})

t.test('a folder for temporary files whose path is too long for sockets is not used', async t => {
  const before = process.env.TMPDIR
  process.env.TMPDIR = join('/nowhere', 'x'.repeat(100))
  t.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  })
  const sockets = createPrivateSockets('linux')
  t.match(sockets.path('store'), /^\/tmp\/llm-gateway-/)
  sockets.remove()
})

t.test('Windows has pipes with names that cannot be guessed', async t => {
  const one = createPrivateSockets('win32')
  t.match(one.path('writer'), /^\\\\\.\\pipe\\llm-gateway-[0-9a-f]{32}-writer$/)
  t.not(one.path('writer'), createPrivateSockets('win32').path('writer'))
  one.remove()
})
