// Loaded before each test file (`test-env` in package.json). tap records every module that a test file, and every process it starts,
// loads. The hooks for that bypass the cache of compiled code and cost more than most test files do, gateways would not run as users
// run them, and only tap's watch mode and coverage read the records. tap has no setting for it, so its preload is replaced by nothing.

import { registerHooks } from 'node:module'
import { join, relative } from 'node:path'
import process from 'node:process'
import { isMainThread } from 'node:worker_threads'
import { recordCosts } from './process-costs.ts'

const RECORDING = '/@tapjs/processinfo/dist/esm/import.mjs'

if (process.env._TAPJS_PROCESSINFO_COVERAGE_ === '0') {
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier.endsWith(RECORDING)) return { url: 'data:text/javascript,', format: 'module', shortCircuit: true }
      // The test file itself has no parent: nothing is left to replace.
      if (context.parentURL === undefined) hooks.deregister()
      return nextResolve(specifier, context)
    }
  })
  // Types are stripped in place, so positions are right without source maps.
  process.setSourceMapsEnabled(false)
}
// `test/run.ts` asks for the costs of its files; worker threads count for their process.
const { TEST_COSTS } = process.env
if (TEST_COSTS && isMainThread) {
  recordCosts(TEST_COSTS, relative(join(import.meta.dirname, '..', '..'), process.argv[1] ?? ''))
}
// Processes that a test starts with this environment need neither.
delete process.env.NODE_OPTIONS
delete process.env.TEST_COSTS
