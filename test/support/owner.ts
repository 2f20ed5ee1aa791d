// Who ends what a test has started: the test itself, or a runner that is no test.

import type { Test } from 'tap'

export type Owner = Pick<Test, 'teardown'>

/** An owner without a test. `close` ends what was started, the latest first. */
export function createOwner(): Owner & { close(): Promise<void> } {
  const endings: Array<() => unknown> = []
  const teardown = (ending: () => unknown): void => void endings.push(ending)
  return {
    teardown: teardown as Owner['teardown'],
    async close() {
      for (const ending of endings.splice(0).reverse()) await ending()
    }
  }
}
