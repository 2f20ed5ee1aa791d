// Runs the measurements that the guide to costs shows, each in its short form and on one scenario; see the shim of npm.
import t from 'tap'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { readCommandBlocks } from './guide-commands.ts'
import { openCheckout, runPage } from './guide-page.ts'

const document = 'ops/guides/costs.md'

t.test('the measurements of the guide to costs run', async t => {
  const blocks = readCommandBlocks().get(document) ?? []
  const checkout = openCheckout(createTemporaryFolder(t))
  await runPage(t, { document, blocks, plan: { words: { '-- DIR': '-- .' }, deadlineMs: 420_000 }, checkout })
})
