// Every view of the dashboard over a busy gateway: accessible in both schemes and on a narrow screen, and each bar, name and cell leads to its
// records. With the variable DASHBOARD_IMAGES it writes the images of the guide into that folder.
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { browserSkip, openPage, startBrowser } from '../../support/browser.ts'
import { enterKey, ON_ROW, startDashboard } from '../../support/dashboard.ts'
import { answerBusily } from '../../support/dashboard-answers.ts'
import { findViolations } from './violations.ts'

/** Addresses of the views, and what is there when they are. */
const VIEWS = [
  { name: 'overview', address: 'overview', ready: '.spark' },
  { name: 'overview-model', address: 'overview?range=24h&by=model', ready: 'table.figures a' },
  { name: 'live', address: 'live', ready: 'tr.record' },
  { name: 'running', address: 'running', ready: 'table.figures td' },
  { name: 'records', address: 'records?range=1h&has_error=true', ready: 'tr.record' },
  { name: 'providers', address: 'providers', ready: '.provider' },
  { name: 'keys', address: 'keys', ready: '.meter-cell' },
  { name: 'spend', address: 'spend?range=30d', ready: 'table.figures td' },
  { name: 'conversations', address: 'conversations', ready: 'table.figures td' },
  { name: 'sinks', address: 'sinks', ready: '.states' }
] as const

const MODES = [
  { mode: 'light', options: { width: 1280 } },
  { mode: 'dark', options: { width: 1280, colorScheme: 'dark' as const } },
  { mode: 'narrow', options: { width: 390 } }
] as const

/** The images of the guide. */
const IMAGES = [
  ...['overview', 'live', 'records', 'providers', 'keys', 'spend', 'conversations', 'running'].map(
    name => `${name}-light`
  ),
  ...['detail-dark', 'overview-narrow', 'live-narrow']
]
const folder = process.env.DASHBOARD_IMAGES

async function writeImage(page: Page, name: string): Promise<void> {
  if (folder === undefined || !IMAGES.includes(name)) return
  await page.screenshot({ path: join(folder, `dashboard-${name}.png`) })
}

const showAddress = (page: Page) => page.evaluate<string>('decodeURIComponent(location.hash)')

t.test('the views of a busy gateway', { skip: browserSkip }, async t => {
  const nowMs = Date.now()
  const url = await startDashboard(t, answerBusily(nowMs))
  const browser = await startBrowser(t)

  for (const { mode, options } of MODES) {
    t.test(`every view is accessible and no wider than the screen: ${mode}`, async t => {
      const { page, complaints } = await openPage(browser, url, options)
      await enterKey(page)
      for (const { name, address, ready } of VIEWS) {
        await page.goto(`${url}#${address}`)
        await page.locator(ready).first().waitFor()
        t.same(await findViolations(page), [], name)
        const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        t.equal(await page.evaluate(overflow), 0, `${name}: nothing is wider than the screen`)
        await writeImage(page, `${name}-${mode}`)
      }
      await page.goto(`${url}#records?range=1h&error_code=provider_failure`)
      await page.getByRole('list', { name: 'Filters that hold' }).getByText('provider_failure').waitFor()
      await page.locator('tr.record').filter({ hasText: 'provider_failure' }).locator('.column-time').first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('alias coder · profile vllm-rack-2 · provider status 503').waitFor()
      t.same(await findViolations(page), [], 'a record')
      await writeImage(page, `detail-${mode}`)
      t.same(complaints, [])
      await page.close()
    })
  }

  t.test('names, bars, drawn ranges and cells lead to the records that they count', async t => {
    const { page, complaints } = await openPage(browser, `${url}#overview?by=profile_id`)
    await enterKey(page)
    const chart = page.getByRole('figure').filter({ hasText: 'Requests per minute' })
    await chart.getByRole('link', { name: 'native-main' }).click()
    await page.locator('tr.record').first().waitFor()
    t.equal(await showAddress(page), '#records?range=1h&profile_id=native-main')
    await page.goBack()
    const plot = chart.locator('.u-over')
    await plot.click({ position: { x: 200, y: 60 } })
    await page.locator('tr.record').first().waitFor()
    const readBounds = async () => {
      const query = new URLSearchParams((await showAddress(page)).split('?')[1])
      return Date.parse(query.get('to') ?? '') - Date.parse(query.get('from') ?? '')
    }
    t.equal(await readBounds(), 59_999, 'a bar is a minute')
    await page.goBack()
    const box = await plot.boundingBox()
    const { x = 0, y = 0 } = box ?? {}
    await page.mouse.move(x + 100, y + 50)
    await page.mouse.down()
    await page.mouse.move(x + 160, y + 50, { steps: 4 })
    await page.mouse.up()
    await page.locator('tr.record').first().waitFor()
    const drawnMs = await readBounds()
    t.ok(drawnMs > 120_000 && (drawnMs + 1) % 60_000 === 0, `a drawn range has whole parts: ${drawnMs}`)

    await page.goto(`${url}#records?range=1h`)
    const row = page.locator('tr.record').filter({ hasText: 'coder' }).first()
    await row.locator('td.column-provider').hover()
    await row.getByRole('button', { name: 'Only provider vllm-rack-2' }).click()
    t.equal(await showAddress(page), '#records?range=1h&profile_id=vllm-rack-2')
    t.equal(await page.getByRole('dialog').count(), 0, 'the row is not opened as well')
    await page.locator('tr.record .column-time').first().click()
    await page.getByRole('dialog').getByRole('link', { name: 'qwen3-coder-30b' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.equal(await showAddress(page), '#records?model=qwen3-coder-30b')

    await page.goto(`${url}#overview`)
    const attention = page.getByRole('region', { name: 'Needs attention' })
    const problem = attention.getByRole('listitem').filter({ hasText: 'vllm-rack-2 responds with status 503' })
    t.match(await attention.getByRole('listitem').first().innerText(), /vllm-rack-2/, 'the worst first')
    await problem.getByRole('link', { name: 'Failed requests' }).click()
    t.equal(await showAddress(page), '#records?range=1h&profile_id=vllm-rack-2&has_error=true')
    t.same(complaints, [])
    await page.close()
  })

  t.test('the address holds range, filters, columns and the open record, and never the key', async t => {
    const { page, complaints } = await openPage(browser, url)
    await page.getByLabel('Remember it').check()
    await enterKey(page, 'Records')
    await page.getByRole('radio', { name: '6 h' }).check()
    await page.getByLabel('Outcome').selectOption('failed')
    await page.getByText('Columns').first().click()
    await page.getByRole('checkbox', { name: 'Trace id' }).check()
    await page.getByRole('columnheader', { name: 'Trace id' }).waitFor()
    await page.locator('tr.record').nth(2).click(ON_ROW)
    await page.getByRole('dialog').waitFor()
    const address = await showAddress(page)
    t.match(address, /^#records\?range=6h&has_error=true&columns=[a-z_,]+trace_id&id=[-\w]+$/)
    const title = await page.getByRole('dialog').innerText()
    await page.reload()
    await page.getByRole('dialog').waitFor()
    t.equal((await page.getByRole('dialog').innerText()).slice(0, 60), title.slice(0, 60))
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('columnheader', { name: 'Trace id' }).waitFor()
    // The range goes along to other views, the filters do not.
    await page.getByRole('navigation').getByRole('link', { name: 'Overview' }).click()
    t.equal(await showAddress(page), '#overview?range=6h')
    await page.getByText('Requests per 5 minutes').waitFor()
    t.same(complaints, [])
    await page.close()
  })

  t.test('a view refreshes itself unless it is told not to', async t => {
    let asked = 0
    const answer = answerBusily(nowMs)
    const counted = await startDashboard(t, (request, response, address) => {
      if (address.pathname.endsWith('/running')) asked += 1
      return answer(request, response, address)
    })
    const { page } = await openPage(browser, `${counted}#running`)
    await enterKey(page)
    const isAskedAgain = async () => {
      // The response that is waited for is then another one than the first.
      await page.getByText('6 model requests are running.').waitFor()
      const before = asked
      await page.waitForResponse(/running/)
      return asked > before
    }
    t.ok(await isAskedAgain())
    await page.getByRole('switch', { name: 'Auto' }).uncheck()
    await page.getByText('6 model requests are running.').waitFor()
    t.equal(await showAddress(page), '#running?refresh=off')
    await page.reload()
    await enterKey(page)
    t.notOk(await page.getByRole('switch', { name: 'Auto' }).isChecked())
    await page.close()
  })
})
