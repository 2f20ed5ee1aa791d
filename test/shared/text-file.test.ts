import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readTextFile } from '../../shared/text-file.ts'

function createPipe(folder: string): string {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  return path
}

t.test('a file and an empty device are read to their end', async t => {
  const folder = t.testdir({ file: 'text ä\n', marked: '\ufefftext\r\n', empty: '' })
  t.equal(readTextFile(join(folder, 'file')), 'text ä\n')
  t.equal(readTextFile(join(folder, 'marked')), 'text\r\n', 'a byte order mark is no part of the text')
  t.equal(readTextFile(join(folder, 'empty')), '')
  t.equal(readTextFile('/dev/null'), '')
})

t.test('a missing file, a folder, and a text without an end are refused', async t => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'folder'))
  writeFileSync(join(folder, 'large'), 'x'.repeat(1024 * 1024 + 1))
  t.throws(() => readTextFile(join(folder, 'missing')), { code: 'ENOENT' })
  t.throws(() => readTextFile(join(folder, 'folder')), { code: 'EISDIR' })
  t.throws(() => readTextFile(join(folder, 'large')), /too large/)
  t.throws(() => readTextFile('/dev/zero'), /too large/)
})

t.test('a pipe is read when its writer comes, and to the end of what it writes', async t => {
  const folder = t.testdir({ part: 'part ' })
  const path = createPipe(folder)
  // The pipe is open and empty while each program starts.
  const writer = spawn('sh', ['-c', 'exec 3> "$0"; cat "$1" >&3; cat "$1" >&3', path, join(folder, 'part')])
  t.equal(readTextFile(path, { pipeTimeoutMs: 60_000 }), 'part part ')
  await once(writer, 'exit')
})

t.test('a pipe without a writer is given up', async t => {
  const path = createPipe(t.testdir())
  t.throws(() => readTextFile(path, { pipeTimeoutMs: 30 }), /in time/)
})
