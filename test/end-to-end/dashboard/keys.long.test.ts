// Keys and spend in a real browser: first every state and limit that there is, then a gateway with a keys file.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildDashboard } from '../../../ops/dashboard/build.ts'
import { browserSkip, openPage, startBrowser } from '../../support/browser.ts'
import { ADMIN_KEY, enterKey, openView, sendJson, startDashboard } from '../../support/dashboard.ts'
import { describeKeys } from '../../support/key-documents.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { recording, startAdminGateway, until } from '../admin/support.ts'
import { findViolations } from './violations.ts'

const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

t.test(
  'keys 16: every state of keys and limits can be read, in both schemes and on a narrow screen',
  { skip: browserSkip },
  async t => {
    const url = await startDashboard(t, (_request, response, { pathname }) => {
      if (pathname === '/_admin/keys') return sendJson(response, 200, describeKeys(Date.now()))
      return sendJson(response, 503, { error: { code: 'query_store_not_configured', message: 'no store' } })
    })
    const browser = await startBrowser(t)
    for (const options of [{}, { colorScheme: 'dark' as const }, { width: 390 }]) {
      const { page } = await openPage(browser, url, options)
      await enterKey(page)
      await openView(page, 'Keys')
      const keys = page.getByRole('region', { name: 'Keys' }).getByRole('row')
      for (const [name, text] of [
        ['default', 'of the settings'],
        ['ci', '14 of 60'],
        ['nightly-evaluation', 'at its limit'],
        ['intern', '20.03 of 20.00 USD'],
        ['contractor', 'expired'],
        ['old', 'disabled']
      ] as const) {
        await keys.filter({ hasText: name }).getByText(text).waitFor()
      }
      const group = page.getByRole('region', { name: 'Groups' }).getByRole('row').filter({ hasText: 'team-a' })
      await group.getByText('412.50 of 500.00 USD').waitFor()
      t.same(await findViolations(page), [])
      t.equal(await page.evaluate(OVERFLOW), 0, 'nothing is wider than the screen')
      await page.close()
    }
  }
)

t.test('keys 16: a key leads from its limits to its records and its spend', { skip: browserSkip }, async t => {
  await buildDashboard()
  const folder = createTemporaryFolder(t)
  const write = (name: string, content: object): string => {
    const path = join(folder, name)
    writeFileSync(path, JSON.stringify(content))
    return path
  }
  const secrets = { CI_KEY: 'secret-of-the-key-ci', WEB_KEY: 'secret-of-the-key-web' }
  const { gateway, logs } = await startAdminGateway(t, {
    env: {
      ...recording,
      ...secrets,
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_KEYS_FILE: write('keys.json', {
        schema_version: 'gateway.keys.v1',
        currency: 'EUR',
        groups: { team: { limits: { requests_per_minute: 100 } } },
        keys: [
          { name: 'ci', group: 'team', secrets: [{ env: 'CI_KEY' }], limits: { requests_per_minute: 2 } },
          { name: 'web', secrets: [{ env: 'WEB_KEY' }], metadata: { owner: 'shop' } }
        ]
      }),
      GATEWAY_PRICES_FILE: write('prices.json', {
        schema_version: 'gateway.prices.v1',
        currency: 'EUR',
        models: { 'GigaChat-2': { input: 1000, output: 1000 } }
      })
    }
  })
  const chat = async (key: keyof typeof secrets, model: string) => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secrets[key]}` },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] })
    })
    await response.text()
    return response.status
  }
  for (const [key, model, status] of [
    ['CI_KEY', 'GigaChat-2', 200],
    ['CI_KEY', 'GigaChat-2', 200],
    ['CI_KEY', 'GigaChat-2', 429],
    ['WEB_KEY', 'GigaChat-2-Pro', 200]
  ] as const) {
    t.equal(await chat(key, model), status)
  }
  const headers = { 'x-admin-api-key': ADMIN_KEY }
  await until(
    async () => (await logs('?route=/v1/chat/completions', { headers })).json.data,
    found => found.length === 4
  )

  const browser = await startBrowser(t)
  const { page, complaints } = await openPage(browser, `${gateway.url}/_admin/ui`)
  await enterKey(page)
  await openView(page, 'Keys')
  const ci = page.getByRole('region', { name: 'Keys' }).getByRole('row').filter({ hasText: 'group team' })
  await ci.getByText('2 of 2').waitFor()
  await ci.getByText('at its limit').waitFor()
  await page.getByRole('region', { name: 'Groups' }).getByText('2 of 100').waitFor()
  t.notOk(/secret-of-the/.test(await page.content()))

  await ci.getByRole('link', { name: 'ci' }).click()
  await page.getByText('Page 1, 3 of 3 records').waitFor()
  t.equal(await page.getByLabel('Key', { exact: true }).inputValue(), 'ci')
  t.equal(await page.locator('tr.record td.column-key').first().innerText(), 'ci')
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.locator('tr.record').filter({ hasText: 'web' }).first().waitFor()

  await openView(page, 'Spend')
  const spend = page.getByRole('region', { name: 'Spend' }).getByRole('row')
  await spend
    .filter({ hasText: 'ci' })
    .getByText(/^[\d.]+ EUR$/)
    .waitFor()
  await spend.filter({ hasText: 'web' }).getByText('–').waitFor()
  t.same(await findViolations(page), [])
  await page.getByRole('checkbox', { name: 'Model' }).check()
  await page.getByRole('checkbox', { name: 'Day' }).check()
  const detailed = spend.filter({ hasText: /\d{4}-\d\d-\d\d/ }).filter({ hasText: 'GigaChat-2-Pro' })
  await detailed.filter({ hasText: 'web' }).waitFor()
  await page.getByRole('radio', { name: '24 h' }).check()
  await detailed.filter({ hasText: 'web' }).waitFor()

  await openView(page, 'Overview')
  await page.getByRole('combobox', { name: 'By' }).selectOption('Key')
  await page.getByRole('region', { name: 'Sums' }).getByRole('row').filter({ hasText: 'ci' }).getByText('EUR').waitFor()
  t.same(complaints, [])
  await page.close()
})
