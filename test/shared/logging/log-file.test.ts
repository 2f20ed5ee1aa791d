import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createFileWriter, openLogFile } from '../../../shared/logging/log-file.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'

function open(t: Test, options: { path?: string; gatherBytes?: number } = {}) {
  const folder = createTemporaryFolder(t)
  const path = options.path ?? join(folder, 'gateway.log')
  let lost = 0
  const file = openLogFile(path, {
    gatherBytes: options.gatherBytes ?? 0,
    gatherMs: 60_000,
    onLost: lines => {
      lost += lines
    }
  })
  return { file, folder, path, lost: () => lost, read: () => readFileSync(path, 'utf8') }
}

t.test('a line is written at once, to a file that only its owner may read', async t => {
  const { file, path, read } = open(t)
  file.write('one\n')
  t.equal(read(), 'one\n')
  t.equal(statSync(path).mode & 0o777, 0o600)
})

t.test('gathered lines are written when they reach the size, and by flush()', async t => {
  const { file, read } = open(t, { gatherBytes: 10 })
  file.write('one\n')
  t.equal(read(), '')
  file.write('two and more\n')
  t.equal(read(), 'one\ntwo and more\n')
  file.write('3\n')
  file.flush()
  t.equal(read(), 'one\ntwo and more\n3\n')
})

t.test(
  'reopen() changes to a new file after a rename, and keeps the old file when the path cannot be opened',
  async t => {
    const { file, folder, path, read } = open(t, { gatherBytes: 100 })
    file.write('old\n')
    renameSync(path, `${path}.1`)
    file.reopen()
    file.write('new\n')
    file.flush()
    t.equal(readFileSync(`${path}.1`, 'utf8'), 'old\n')
    t.equal(read(), 'new\n')
    rmSync(folder, { recursive: true })
    t.throws(() => file.reopen(), { code: 'ENOENT' })
    file.write('still taken\n')
    file.flush()
  }
)

t.test(
  'on a full disk lines are dropped and counted, and write() and reopen() still work',
  { skip: !existsSync('/dev/full') },
  async t => {
    const { file, lost } = open(t, { path: '/dev/full', gatherBytes: 100 })
    file.write('one\n')
    file.write('two\n')
    file.flush()
    t.equal(lost(), 2)
    file.write('three\n')
    file.reopen()
    t.equal(lost(), 3)
  }
)

t.test('a line that is larger than what is gathered keeps its place, and every character counts as UTF-8', async t => {
  const { file, read } = open(t, { gatherBytes: 10 })
  const long = `${'длинная строка €😀'.repeat(20)}\n`
  file.write('one\n')
  file.write(long)
  file.write('два\n')
  file.write('3\n')
  file.flush()
  t.equal(read(), `one\n${long}два\n3\n`)
})

t.test(
  'after a write that failed, a line that another process left incomplete is ended first',
  { skip: !existsSync('/dev/full') },
  async t => {
    const path = join(createTemporaryFolder(t), 'gateway.log')
    const descriptors = [openSync('/dev/full', 'a'), openSync(path, 'a')]
    t.teardown(() => descriptors.forEach(closeSync))
    let descriptor = descriptors[0] as number
    const endsInPartialLine = () => true
    const file = createFileWriter(() => descriptor, {
      gatherBytes: 4,
      gatherMs: 60_000,
      onLost: () => undefined,
      endsInPartialLine
    })
    file.write('lost\n')
    descriptor = descriptors[1] as number
    file.write('one\n')
    file.write('two\n')
    t.equal(readFileSync(path, 'utf8'), '\none\ntwo\n')
  }
)

t.test('a named pipe without a reader is refused at once', async t => {
  const path = join(createTemporaryFolder(t), 'pipe')
  execFileSync('mkfifo', [path])
  t.throws(() => open(t, { path }), { code: 'ENXIO' })
})
