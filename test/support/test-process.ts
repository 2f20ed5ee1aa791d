// Loaded before each test file (`test-env` in package.json). tap records every module that a test file, and every process it starts,
// loads. The hooks for that bypass the cache of compiled code and cost more than most test files do, gateways would not run as users
// run them, and only tap's watch mode and coverage read the records. tap has no setting for it, so its preload is replaced by nothing.

import { registerHooks } from 'node:module'
import process from 'node:process'

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
// Processes that a test starts with this environment need neither.
delete process.env.NODE_OPTIONS
