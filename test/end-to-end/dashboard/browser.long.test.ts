// The dashboard in a real browser, in front of a started gateway that records what the test sends.
import type { Page } from 'playwright-core'
import t from 'tap'
import { buildDashboard } from '../../../ops/dashboard/build.ts'
import { browserSkip, openPage, startBrowser } from '../../support/browser.ts'
import { ADMIN_KEY, enterKey, ON_ROW, openView } from '../../support/dashboard.ts'
import { recording, startAdminGateway, until } from '../admin/support.ts'
import { findViolations } from './violations.ts'

const HOSTILE = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">'

t.test('the dashboard works in a browser', { skip: browserSkip }, async t => {
  await buildDashboard()
  const { gateway, logs } = await startAdminGateway(t, {
    env: { ...recording, GATEWAY_REPLAY_ENABLED: 'true', GATEWAY_ADMIN_API_KEY: ADMIN_KEY }
  })
  const { url } = gateway
  const browser = await startBrowser(t)
  const open = (options?: Parameters<typeof openPage>[2]) => openPage(browser, `${url}/_admin/ui`, options)
  const chat = (model: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: `[[text:shown ${HOSTILE}]]` }],
        service_tier: 'flex'
      })
    }).then(response => response.text())
  const rows = (page: Page) => page.locator('tr.record')
  /** A record is stored after its response, so a search that follows at once may miss it. */
  const waitStored = async (query: Record<string, string>, count = 1) => {
    const headers = { 'x-admin-api-key': ADMIN_KEY }
    await until(
      async () => (await logs(`?${new URLSearchParams(query)}`, { headers })).json.data,
      found => found.length === count
    )
  }

  t.test('a wrong key is refused with a message, and the right one is kept in memory only', async t => {
    const { page, complaints } = await open()
    await page.getByLabel('Admin key').fill('wrong')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('alert').getByText('The admin key is wrong.').waitFor()
    t.match(complaints.splice(0), [/403/], 'the browser reports the refused request')
    // Typed with another keyboard layout: no header can hold it.
    await page.getByLabel('Admin key').fill('фвьшт')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('button', { name: 'Checking…' }).waitFor({ state: 'detached' })
    t.equal(await page.getByRole('alert').innerText(), 'The admin key is wrong.')
    await enterKey(page)
    const stored =
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])'
    t.equal(await page.evaluate(stored), JSON.stringify([{}, {}, '', `${url}/_admin/ui`, null]))
    t.notMatch(await page.content(), ADMIN_KEY)
    await page.getByRole('button', { name: 'Lock' }).click()
    t.equal(await page.getByLabel('Admin key').inputValue(), '')
    await page.reload()
    await page.getByLabel('Admin key').waitFor()
    t.same(complaints, [])
    await page.close()
  })

  t.test('the key is remembered in the tab where that is asked for, until it is locked', async t => {
    const { page, complaints } = await open()
    await page.getByLabel('Remember it').check()
    await enterKey(page)
    await page.goto(`${url}/_admin/ui#keys`)
    await page.reload()
    await page.getByRole('heading', { name: 'Keys' }).waitFor()
    t.equal(await page.evaluate('JSON.stringify([{ ...localStorage }, document.cookie])'), '[{},""]')
    t.notOk((await page.evaluate<string>('location.href')).includes(ADMIN_KEY))
    await page.getByRole('button', { name: 'Lock' }).click()
    await page.reload()
    await page.getByLabel('Admin key').waitFor()
    t.equal(await page.evaluate('JSON.stringify({ ...sessionStorage })'), '{}')
    t.same(complaints, [])
    await page.close()
  })

  t.test('requests are shown in the live tail as they end, and are held back while it is paused', async t => {
    const { page, complaints } = await open()
    await enterKey(page, 'Live')
    await page.getByRole('status').getByText('live').waitFor()
    await chat('GigaChat-2')
    await rows(page).filter({ hasText: 'GigaChat-2' }).first().waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    const before = await rows(page).count()
    await chat('GigaChat-2-Pro')
    await page.getByText('1 since the pause').waitFor()
    t.equal(await rows(page).count(), before)
    await page.getByRole('button', { name: 'Resume' }).click()
    await rows(page).filter({ hasText: 'GigaChat-2-Pro' }).waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('No requests yet').waitFor()
    t.same(complaints, [])
    await page.close()
  })

  t.test('records are filtered and paged; a record shows its content, is replayed and redacted', async t => {
    await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{' }).then(response => response.text())
    await waitStored({ status_code: '400' })
    const { page, complaints } = await open()
    await enterKey(page)
    await openView(page, 'Records')
    await page.getByLabel('Outcome').selectOption('failed')
    await rows(page).filter({ hasText: '400' }).first().waitFor()
    t.equal(await rows(page).filter({ hasText: '200' }).count(), 0)
    await page.getByRole('button', { name: 'Outcome failed' }).click()
    await page.getByRole('textbox', { name: 'Model' }).fill('GigaChat-2-Pro')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('Page 1, 1 of 1 records').waitFor()
    await page.getByLabel('Contains').fill('no such text')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('No record matches.').waitFor()
    await page.getByLabel('Contains').fill('gigachat-2-pr')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('Page 1, 1 of 1 records').waitFor()

    await rows(page).first().click(ON_ROW)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('region', { name: 'Timings' }).getByText('Upstream').waitFor()
    t.match(await dialog.getByRole('region', { name: 'Tokens' }).innerText(), /\d+ input, \d+ output, \d+ in total/)
    t.match(await dialog.getByRole('region', { name: 'Route' }).innerText(), /GigaChat-2-Pro/)
    // decisions.md 70
    const facts = dialog.getByRole('region', { name: 'Request', exact: true })
    t.match(await facts.innerText(), /Fields without effect\s+service_tier/)
    await dialog.getByRole('button', { name: 'Show request' }).click()
    await dialog.getByRole('region', { name: 'Request body' }).getByText(HOSTILE.slice(0, 20)).waitFor()
    await dialog.getByRole('button', { name: 'Show response' }).click()
    await dialog.getByRole('region', { name: 'Response body' }).getByText('shown').waitFor()

    await dialog.getByRole('button', { name: 'Replay…' }).click()
    await dialog.getByRole('group', { name: 'Replay' }).getByRole('button', { name: 'Cancel' }).click()
    await dialog.getByRole('button', { name: 'Replay…' }).click()
    await dialog.getByRole('button', { name: 'Replay', exact: true }).click()
    await dialog.getByText('Replayed with status 200.').waitFor()

    await dialog.getByRole('button', { name: 'Redact…' }).click()
    await dialog.getByRole('checkbox', { name: 'Request headers' }).uncheck()
    await dialog.getByRole('button', { name: 'Redact', exact: true }).click()
    await dialog.getByText('Redacted: ').waitFor()
    await dialog.getByText('The body was not captured, or was redacted.').first().waitFor()
    await dialog.getByRole('button', { name: 'Show response' }).click()
    await dialog.getByText('Not captured, or redacted.').waitFor()
    await page.keyboard.press('Escape')
    t.equal(await dialog.count(), 0)

    await waitStored({ model: 'GigaChat-2-Pro' }, 2)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByText('Page 1, 2 of 2 records').waitFor()
    t.same(complaints, [])
    await page.close()
  })

  t.test('why a request failed is in the overview, in the list and in the detail (decisions.md 96)', async t => {
    await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'GigaChat-2', messages: [{ role: 'user', content: 7 }] })
    }).then(response => response.text())
    await waitStored({ error_code: 'invalid_request' })
    const { page, complaints } = await open()
    await enterKey(page)
    const failures = page.getByRole('region', { name: 'Failures by code' })
    await failures.getByRole('link', { name: 'invalid_request' }).click()
    const row = rows(page).filter({ hasText: 'GigaChat-2' })
    await row.getByText('invalid_request').waitFor()
    await row.locator('.column-time').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('link', { name: 'invalid_request', exact: true }).waitFor()
    await dialog.getByText('at messages[0].content').waitFor()
    await dialog.getByText(/^(?:alias|not sent)/).waitFor()
    t.same(complaints, [])
    await page.close()
  })

  t.test('a request that runs is shown while it does', async t => {
    const { page, complaints } = await open()
    await enterKey(page)
    const leaving = new AbortController()
    const running = fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'GigaChat-2-Pro', messages: [{ role: 'user', content: '[[hang]]' }] })
    }).catch(() => undefined)
    await openView(page, 'Running')
    const row = page
      .getByRole('region', { name: 'Running requests' })
      .getByRole('row')
      .filter({ hasText: 'GigaChat-2-Pro' })
    await row.getByText('waiting').waitFor()
    t.same(await findViolations(page), [])
    leaving.abort()
    await running
    await page.getByText('0 model requests are running.').waitFor()
    await page.getByText('No model request runs at the moment.').waitFor()
    t.same(complaints, [])
    await page.close()
  })

  t.test('how the gateway and its provider are, and which models it serves', async t => {
    await chat('GigaChat-2-Pro')
    const { page, complaints } = await open()
    await enterKey(page)
    await openView(page, 'Providers')
    const card = page
      .getByRole('list', { name: 'Providers' })
      .getByRole('listitem')
      .filter({ hasText: 'native-upstream' })
    await card.getByText(/^\d+ s ago/).waitFor()
    await card.getByText('working').waitFor()
    await page.getByText('The gateway is ready').waitFor()
    // The catalog is open, because no keys file is in force.
    await page
      .getByRole('region', { name: 'Models' })
      .getByRole('row')
      .filter({ hasText: 'GigaChat-2-Pro' })
      .first()
      .waitFor()
    t.same(await findViolations(page), [])
    t.same(complaints, [])
    await page.close()
  })

  t.test('what a hostile client writes stays text everywhere', async t => {
    await chat(HOSTILE, { 'user-agent': HOSTILE, 'x-request-id': 'hostile' })
    await waitStored({ model: HOSTILE })
    await fetch(`${url}/${encodeURIComponent(HOSTILE)}`).then(response => response.text())
    const { page, complaints } = await open()
    await enterKey(page, 'Live')
    const row = rows(page).filter({ hasText: HOSTILE }).first()
    await row.click(ON_ROW)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Show request' }).click()
    await dialog.getByRole('region', { name: 'Request body' }).getByText('<script>window.hacked = 1').waitFor()
    await page.keyboard.press('Escape')
    for (const view of ['Running', 'Records', 'Providers', 'Keys', 'Spend', 'Overview', 'Sinks']) {
      await openView(page, view)
      await page.getByRole('heading', { name: view }).waitFor()
    }
    await page.getByText(/of write-ahead log$/).waitFor()
    await openView(page, 'Overview')
    await page.getByRole('combobox', { name: 'By' }).selectOption('Model')
    // Models that clients make up are one group (decisions.md 96).
    await page.getByRole('region', { name: 'Sums' }).getByRole('rowheader', { name: 'other' }).waitFor()
    await page.goto(`${url}/_admin/ui#${new URLSearchParams({ model: HOSTILE })}`.replace('#', '#records?'))
    await page.getByRole('list', { name: 'Filters that hold' }).getByText(HOSTILE).waitFor()
    await rows(page).filter({ hasText: HOSTILE }).first().waitFor()
    t.equal(await page.evaluate('window.hacked'), undefined)
    t.equal(await page.locator('main script, main img').count(), 0)
    t.same(complaints, [])
    await page.close()
  })

  t.test('every view is accessible, in both schemes and on a narrow screen', async t => {
    for (const options of [{}, { colorScheme: 'dark' as const }, { width: 390 }]) {
      const { page } = await open(options)
      t.same(await findViolations(page), [], 'entry of the key')
      await enterKey(page)
      for (const [view, ready] of [
        ['Live', 'tr.record'],
        ['Running', '.count'],
        ['Records', 'tr.record'],
        ['Overview', '.chart canvas'],
        ['Spend', 'table.figures'],
        ['Providers', '.provider'],
        ['Sinks', '.states']
      ] as const) {
        await openView(page, view)
        await page.locator(ready).first().waitFor()
        t.same(await findViolations(page), [], view)
        const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        t.equal(await page.evaluate(overflow), 0, `${view}: nothing is wider than the screen`)
      }
      await openView(page, 'Records')
      await rows(page).filter({ hasText: '/v1/chat/completions' }).first().click(ON_ROW)
      await page.getByRole('button', { name: 'Show request' }).click()
      await page.getByRole('button', { name: 'Redact…' }).click()
      await page.getByRole('region', { name: 'Request headers' }).waitFor()
      t.same(await findViolations(page), [], 'detail')
      await page.close()
    }
  })

  t.test('the colors follow the choice of the reader, and before that the system', async t => {
    const { page } = await open({ colorScheme: 'dark' })
    const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    const system = await background()
    await page.getByLabel('Colors').selectOption('dark')
    t.equal(await background(), system)
    await page.getByLabel('Colors').selectOption('light')
    t.not(await background(), system)
    await page.close()
  })

  t.test('everything can be reached with the keyboard', async t => {
    const { page } = await open()
    const focused = () => page.evaluate('document.activeElement.textContent')
    await page.getByLabel('Admin key').waitFor()
    await page.keyboard.type(ADMIN_KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Live' }).focus()
    await page.keyboard.press('Enter')
    await rows(page).nth(1).waitFor()
    const times = await page.locator('tr.record .column-time button').allInnerTexts()
    for (let presses = 0; (await focused()) !== times[0]; presses++) {
      if (presses > 30) t.fail('the rows cannot be reached')
      if (presses > 30) return
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('ArrowDown')
    t.equal(await focused(), times[1])
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Tab')
    t.ok(await page.evaluate("document.querySelector('dialog').contains(document.activeElement)"))
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    t.equal(await focused(), times[1], 'the focus is back on the row')
    // Along the row to the filters of its cells.
    await page.keyboard.press('ArrowRight')
    t.match(await page.evaluate("document.activeElement.getAttribute('aria-label')"), /^Only /)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Records' }).waitFor()
    await page.getByRole('list', { name: 'Filters that hold' }).getByRole('listitem').waitFor()
    await page.close()
  })
})
