// Runs the tools of the project in a test.

import { execa } from 'execa'

/**
 * Runs a tool to its end and resolves with any exit code. The hooks that the test runner puts into child processes are removed,
 * because some tools fail with them.
 */
export function runClean(command: readonly string[], options: { cwd: string }) {
  return execa('env', ['-u', 'NODE_OPTIONS', ...command], { cwd: options.cwd, reject: false })
}
