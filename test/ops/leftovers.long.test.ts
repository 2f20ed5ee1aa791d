// Alone: it looks at what a run of other test files leaves behind.
// Runs a sample of the tests in a temporary directory of its own: when they have ended, nothing of them is left.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import t from 'tap'
import { createTemporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '..', '..')
const sample = [
  'test/shared/logging.test.ts',
  'test/shared/settings.test.ts',
  'test/supervisor/files/log-rotation.test.ts',
  'test/supervisor/preflight.test.ts',
  'test/end-to-end/responses-late-thread.test.ts'
]

/** The processes whose environment names the folder (Linux). */
function findProcesses(folder: string): string[] {
  return readdirSync('/proc').filter(entry => {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return false
    try {
      return readFileSync(`/proc/${entry}/environ`, 'utf8').includes(folder)
    } catch {
      // The process has exited, or belongs to another user.
      return false
    }
  })
}

t.test('tests leave no temporary folder and no process behind', async t => {
  const folder = createTemporaryFolder(t)
  // The runner's own variables would make the files report to the run that they are part of here.
  const own = Object.entries(process.env).filter(([name]) => !/^(?:_?TAP|NODE_OPTIONS)/.test(name))
  const env = { ...Object.fromEntries(own), TMPDIR: folder }
  for (const file of sample) {
    const { exitCode, stdout } = await execa(process.execPath, [file], {
      cwd: root,
      env,
      extendEnv: false,
      reject: false
    })
    t.equal(exitCode, 0, stdout.slice(-2000))
    t.strictSame(readdirSync(folder), [], file)
    t.strictSame(findProcesses(folder), [], file)
  }
})
