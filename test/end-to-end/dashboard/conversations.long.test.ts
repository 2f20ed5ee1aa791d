// The view of stored responses in a real browser, in front of a gateway that stores what the test sends.
import { join } from 'node:path'
import t from 'tap'
import { buildDashboard } from '../../../ops/dashboard/build.ts'
import { browserSkip, openPage, startBrowser } from '../../support/browser.ts'
import { post } from '../../support/client.ts'
import { ADMIN_KEY, enterKey, openView } from '../../support/dashboard.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { recording, startAdminGateway } from '../admin/support.ts'
import { findViolations } from './violations.ts'

const HOSTILE = '<script>window.hacked = 1</script>'

t.test('memory 20: the dashboard shows stored responses', { skip: browserSkip }, async t => {
  await buildDashboard()
  const browser = await startBrowser(t)
  const env = { ...recording, GATEWAY_ADMIN_API_KEY: ADMIN_KEY }

  t.test('a thread has a row, and its turns when it is opened', async t => {
    const file = join(createTemporaryFolder(t), 'responses.sqlite')
    const { gateway } = await startAdminGateway(t, { env: { ...env, GATEWAY_RESPONSES_STORE_DSN: `sqlite:${file}` } })
    const ask = async (body: object) => {
      const { json } = await post(`${gateway.url}/v1/responses`, { model: 'GigaChat-2', ...body })
      return json
    }
    const first = await ask({ input: `The word is cobalt. ${HOSTILE}` })
    const next = await ask({ input: '[[recall]]', previous_response_id: first.id })
    await ask({ input: 'Another conversation.', model: 'GigaChat-2-Pro' })

    for (const options of [{}, { colorScheme: 'dark' as const }, { width: 390 }]) {
      const { page, complaints } = await openPage(browser, `${gateway.url}/_admin/ui`, options)
      await enterKey(page)
      await openView(page, 'Conversations')
      const rows = page.getByRole('region', { name: 'Conversations' }).getByRole('row')
      const row = rows.filter({ hasText: first.id })
      await row.waitFor()
      t.equal(await rows.count(), 3, 'a head, and a row for each thread')
      t.match(await row.innerText(), /GigaChat-2\s+2\s+[\d.]+ (?:B|KiB)/, 'the model, the turns and the size')
      t.same(await findViolations(page), [], 'the list')

      await row.getByRole('button').click()
      const dialog = page.getByRole('dialog')
      const turn = dialog.getByRole('region', { name: next.id })
      await turn.getByText(`continues ${first.id}`).waitFor()
      await dialog.getByRole('region', { name: first.id }).getByText(HOSTILE).first().waitFor()
      t.match(await turn.innerText(), /\[\[recall\]\].*assistant.*cobalt/s, 'input comes before output')
      t.equal(await page.evaluate('window.hacked'), undefined)
      t.same(await findViolations(page), [], 'a thread')
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      t.equal(await page.evaluate(overflow), 0, 'nothing is wider than the screen')
      await page.keyboard.press('Escape')
      t.equal(await dialog.count(), 0)
      t.same(complaints, [])
      await page.close()
    }
  })

  t.test('without a store there is no such view', async t => {
    const { gateway } = await startAdminGateway(t, { env })
    const { page, complaints } = await openPage(browser, `${gateway.url}/_admin/ui`)
    const asked = page.waitForResponse(/_admin\/logs\/health/)
    await enterKey(page)
    await asked
    await page.getByRole('link', { name: 'Providers' }).waitFor()
    t.equal(await page.getByRole('link', { name: 'Conversations' }).count(), 0)
    t.same(complaints, [])
    await page.close()
  })
})
