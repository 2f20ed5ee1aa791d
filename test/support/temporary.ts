// Temporary folders of tests, all under one name and removed with the test that made them.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Owner } from './owner.ts'

const PREFIX = 'gateway-test-'

/** Makes a folder that is removed when the test has ended, after the teardowns that were registered behind this one. */
export function createTemporaryFolder(t: Owner, name = ''): string {
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${name}`))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
