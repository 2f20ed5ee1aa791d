// The rules for Prometheus, by its own program.

import { join } from 'node:path'
import t from 'tap'
import { findProgram, whyWithout } from '../support/programs.ts'
import { runClean } from '../support/run-clean.ts'

const ops = join(import.meta.dirname, '..', '..', 'ops')

t.test(
  'promtool accepts the rules, and each alert fires and stays quiet as it must',
  { skip: whyWithout('promtool') },
  async t => {
    const promtool = findProgram('promtool')
    const folder = { cwd: join(ops, 'prometheus') }
    const checked = await runClean([promtool, 'check', 'rules', 'gateway.rules.yml'], folder)
    t.equal(checked.exitCode, 0, checked.stderr)
    const tested = await runClean([promtool, 'test', 'rules', 'gateway.rules.test.yml'], folder)
    t.equal(tested.exitCode, 0, tested.stdout + tested.stderr)
    const configured = await runClean([promtool, 'check', 'config', '--syntax-only', 'prometheus.yml'], folder)
    t.equal(configured.exitCode, 0, configured.stderr)
  }
)
