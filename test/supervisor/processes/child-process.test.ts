import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { attachChild, type ProcessExit } from '../../../supervisor/processes/child-process.ts'

const entry = join(import.meta.dirname, 'fixtures/talking-child.ts')

function attach(t: Test, child: ChildProcess) {
  t.teardown(() => child.kill('SIGKILL'))
  const seen: unknown[] = []
  const { promise: ended, resolve } = Promise.withResolvers<ProcessExit | Error>()
  const handle = attachChild(child, {
    onMessage: value => seen.push(value),
    onChannelError: error => seen.push(error),
    onExit(exit) {
      seen.push('exit')
      resolve(exit)
    },
    onForkFailed(error) {
      seen.push('fork-failed')
      resolve(error)
    }
  })
  return { handle, seen, ended }
}

t.test('the exit is reported once and after the last message', async t => {
  const child = fork(entry, ['2000'], { serialization: 'advanced' })
  const { seen, ended, handle } = attach(t, child)
  t.same(await ended, { code: 7, signal: null })
  await new Promise(resolve => setImmediate(resolve))
  t.equal(seen.length, 2001)
  t.same(seen.at(-2), { number: 1999, deltas: new Float64Array([1999, 0.5]) })
  t.equal(seen.at(-1), 'exit')
  handle.send({ late: true })
})

t.test('a process is sent messages and killed', async t => {
  const child = fork(entry, ['0'], { serialization: 'advanced' })
  const { handle, seen, ended } = attach(t, child)
  t.equal(handle.pid, child.pid)
  handle.send({ echo: new Uint8Array([1, 2]) })
  await once(child, 'message')
  t.same(seen, [{ echo: new Uint8Array([1, 2]) }])
  handle.kill()
  t.same(await ended, { code: null, signal: 'SIGKILL' })
})

t.test('a process that cannot be started is reported as such, without an exit', async t => {
  const child = spawn('/nonexistent/node', [], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  const { seen, ended } = attach(t, child)
  t.match(await ended, { code: 'ENOENT' })
  await new Promise(resolve => setImmediate(resolve))
  t.same(seen, ['fork-failed'])
})
