// The pages of the documentation in a real browser.
import t from 'tap'
import { browserSkip, openPage, startBrowser } from '../../support/browser.ts'
import { startDocumentedGateway } from '../../support/docs-gateway.ts'

t.test('the pages work in a browser', { skip: browserSkip }, async t => {
  const browser = await startBrowser(t)
  const { url, emulator } = await startDocumentedGateway(t, {
    GATEWAY_ENABLE_API_KEY_AUTH: 'True',
    GATEWAY_API_KEY: 'k1'
  })

  t.test('a request is sent from /docs with the entered key, and its response is shown', async t => {
    const { page, complaints } = await openPage(browser, `${url}/docs`)
    await page.getByRole('button', { name: 'Authorize' }).click()
    const dialog = page.locator('.modal-ux')
    await dialog.locator('input').first().fill('k1')
    await dialog.getByRole('button', { name: 'Apply credentials' }).first().click()
    await dialog.getByRole('button', { name: 'Close' }).first().click()

    const operation = page.locator('.opblock', { has: page.locator('[data-path="/v1/chat/completions"]') })
    await operation.locator('.opblock-summary-control').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    const body = { model: 'GigaChat-2', messages: [{ role: 'user', content: '[[text:shown on the page]]' }] }
    await operation.locator('textarea').fill(JSON.stringify(body))
    const sent = page.waitForRequest(request => request.url().endsWith('/v1/chat/completions'))
    await operation.getByRole('button', { name: 'Execute' }).click()
    const response = operation.locator('.live-responses-table')
    await response.getByText('shown on the page').first().waitFor()
    t.match(await response.locator('.response-col_status').nth(1).innerText(), /200/)

    const request = await sent
    t.equal((await request.allHeaders()).authorization, 'Bearer k1')
    // Callers are classified by this header.
    t.equal((await request.allHeaders()).referer, `${url}/docs`)
    t.equal(emulator.requests.filter(({ path }) => path.endsWith('/chat/completions')).length, 1)
    t.same(complaints, [])
    await page.close()
  })

  t.test('without the key the response says so', async t => {
    const { page } = await openPage(browser, `${url}/docs`)
    const operation = page.locator('.opblock', { has: page.locator('[data-path="/v1/models"]') })
    await operation.locator('.opblock-summary-control').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.getByRole('button', { name: 'Execute' }).click()
    const shown = operation.locator('.live-responses-table').getByText('API key required').first()
    await shown.waitFor()
    t.ok(await shown.isVisible())
    await page.close()
  })

  t.test('the reference shows every operation without a script, on narrow and dark screens as well', async t => {
    for (const options of [{}, { width: 390 }, { colorScheme: 'dark' as const }]) {
      const { page, complaints } = await openPage(browser, `${url}/redoc`, options)
      t.equal(await page.locator('script').count(), 0)
      t.equal(await page.locator('section h2').first().innerText(), 'OpenAI / Chat Completions')
      const operation = page.locator('#createchatcompletionv1')
      await operation.locator('summary').click()
      t.match(await operation.innerText(), /ChatCompletionRequest/)
      await operation.getByText('ChatCompletionRequest').click()
      t.match(page.url(), /#chatcompletionrequest$/)
      const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      t.equal(await page.evaluate(overflow), 0, 'nothing is wider than the screen')
      t.same(complaints, [])
      await page.close()
    }
  })

  t.test('the colors of the interactive page follow the system', async t => {
    const dark = await openPage(browser, `${url}/docs`, { colorScheme: 'dark' })
    const light = await openPage(browser, `${url}/docs`)
    const background = "getComputedStyle(document.querySelector('html')).backgroundColor"
    t.not(await dark.page.evaluate(background), await light.page.evaluate(background))
    t.same([...dark.complaints, ...light.complaints], [])
  })
})
