// The dashboard while 100,000 records arrive, and while the admin API fails.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Page } from 'playwright-core'
import t from 'tap'
import { browserSkip, openPage, startBrowser } from '../../support/browser.ts'
import { type AdminHandler, enterKey, ON_ROW, openView, sendJson, startDashboard } from '../../support/dashboard.ts'

const RECORDS = 100_000
const CHUNK = 500
/** The texts of all records together are ten times as long. */
const GROWTH_BYTES_MAX = 12 * 1024 * 1024

/** A record in the form of the admin API, of about 1200 characters. */
function writeEvent(index: number): string {
  const id = `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`
  const summary = {
    id,
    created_at: '2026-01-05T10:00:00.123456+00:00',
    request_id: `request-${index}`,
    protocol: 'openai',
    route: '/v1/chat/completions',
    method: 'POST',
    status_code: 200,
    model_requested: 'GigaChat-2-Max',
    latency_ms: index,
    input_tokens: 10,
    output_tokens: 20,
    error_type: null,
    metadata: { path: '/v1/chat/completions', filler: 'x'.repeat(800) },
    has_request_body: false,
    has_response_body: false
  }
  return `event: log\nid: ${id}\ndata: ${JSON.stringify(summary)}\n\n`
}

async function sendRecords(response: ServerResponse): Promise<void> {
  for (let start = 0; start < RECORDS; start += CHUNK) {
    const text = Array.from({ length: CHUNK }, (_, index) => writeEvent(start + index)).join('')
    if (!response.write(text)) await once(response, 'drain')
  }
}

async function readHeapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.enable').then(() => session.send('Performance.getMetrics'))
  await session.detach()
  return metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0
}

t.test('the dashboard under load and failure', { skip: browserSkip }, async t => {
  const browser = await startBrowser(t)

  t.test('100,000 records arrive without freezing or growing the page', async t => {
    const begin = Promise.withResolvers<void>()
    const url = await startDashboard(t, async (_request, response, { pathname }) => {
      if (!pathname.endsWith('/tail')) return sendJson(response, 200, { data: [], next_cursor: null })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(': ping\n\n')
      await begin.promise
      await sendRecords(response)
    })
    const { page, complaints } = await openPage(browser, url)
    await enterKey(page, 'Live')
    await page.getByRole('status').getByText('live').waitFor()
    const before = await readHeapBytes(page)
    // Frames that were drawn with a new count: a page that freezes draws the first and the last.
    await page.evaluate(`{
      const counted = document.querySelector('[data-testid=received]')
      let last = counted.textContent
      window.drawn = 0
      const look = () => {
        if (counted.textContent !== last) window.drawn += 1
        last = counted.textContent
        requestAnimationFrame(look)
      }
      look()
    }`)
    begin.resolve()
    await page.getByText('100,000 received').waitFor({ timeout: 120_000 })
    const drawn = Number(await page.evaluate('window.drawn'))
    t.ok(drawn >= 20, `the page was drawn ${drawn} times meanwhile`)
    t.ok((await page.locator('tr.record').count()) < 60, 'only rows in sight are in the page')
    t.equal(await page.getByRole('table').getAttribute('aria-rowcount'), '1001')
    t.match(await page.locator('tr.record').first().innerText(), '100 s')
    const growth = (await readHeapBytes(page)) - before
    t.ok(growth < GROWTH_BYTES_MAX, `the page grew by ${growth} bytes`)
    // The last row of those that are kept.
    await page.evaluate("document.querySelector('.scroller').scrollTo(0, 1e6)")
    await page.locator('tr.record[aria-rowindex="1001"]').waitFor()
    t.same(complaints, [])
    await page.close()
  })

  t.test('pages go by cursor, there and back', async t => {
    const asked: Array<string | null> = []
    const url = await startDashboard(t, (_request, response, { pathname, searchParams }) => {
      if (pathname.endsWith('/tail')) return sendJson(response, 503, { error: { code: 'x', message: 'x' } })
      const cursor = searchParams.get('cursor')
      if (searchParams.get('limit') === '50') asked.push(cursor)
      const next = { '': 'second', second: 'third', third: null }[cursor ?? ''] ?? null
      const id = cursor ?? 'first'
      sendJson(response, 200, { data: [{ id, route: `/${id}`, metadata: {} }], next_cursor: next })
    })
    const { page } = await openPage(browser, `${url}#records`)
    await enterKey(page)
    await page.getByLabel('Rows').selectOption('50')
    await page.locator('tr.record').filter({ hasText: '/first' }).waitFor()
    for (const [button, route] of [
      ['Older', '/second'],
      ['Older', '/third'],
      ['Newer', '/second'],
      ['Newer', '/first']
    ] as const) {
      await page.getByRole('button', { name: button }).click()
      await page.locator('tr.record').filter({ hasText: route }).waitFor()
    }
    t.ok(await page.getByRole('button', { name: 'Newer' }).isDisabled())
    t.same(asked, [null, 'second', 'third', 'second', null])
    await page.close()
  })

  t.test('a redaction that failed in a mirror and a replay of masked content say so', async t => {
    const url = await startDashboard(t, (_request, response, { pathname }) => {
      if (pathname.endsWith('/redact')) {
        const result = { mirrors: { opensearch: 'failed', other: 'redacted' } }
        return sendJson(response, 200, { redacted_fields: ['request_body'], result })
      }
      if (pathname.endsWith('/replay')) {
        const replayed = { request: { redacted: true }, response: { status_code: 200, headers: {}, body: null } }
        return sendJson(response, 200, replayed)
      }
      if (pathname.endsWith('/tail')) return sendJson(response, 503, { error: { code: 'x', message: 'x' } })
      const record = JSON.parse(/data: (.*)/.exec(writeEvent(1))?.[1] ?? '')
      sendJson(response, 200, pathname.endsWith(record.id) ? record : { data: [record], next_cursor: null })
    })
    const { page } = await openPage(browser, `${url}#records`)
    await enterKey(page)
    await page.locator('tr.record').click(ON_ROW)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Replay…' }).click()
    await dialog.getByRole('button', { name: 'Replay', exact: true }).click()
    await dialog.getByText('What is masked in the record was sent masked.').waitFor()
    await dialog.getByRole('button', { name: 'Redact…' }).click()
    await dialog.getByRole('button', { name: 'Redact', exact: true }).click()
    await dialog.getByRole('alert').getByText('opensearch still has the content.').waitFor()
    t.equal(await dialog.getByText('other still has the content.').count(), 0)
    await page.close()
  })

  t.test('a failing store is named in every view, and the tail connects again', async t => {
    let isFailing = true
    const handler: AdminHandler = (_request, response, { pathname }) => {
      if (isFailing) {
        return sendJson(response, 503, { error: { code: 'query_store_unavailable', message: 'x' } })
      }
      if (pathname.endsWith('/health')) {
        return sendJson(response, 200, {
          enabled: true,
          query_store: null,
          writer: 'disconnected',
          sinks: [],
          store: null
        })
      }
      if (!pathname.endsWith('/tail')) return sendJson(response, 200, { data: [], next_cursor: null })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`event: skipped\ndata: {"skipped":5}\n\n${writeEvent(1)}`)
    }
    const { page } = await openPage(browser, await startDashboard(t, handler))
    await enterKey(page)
    const message = page.getByRole('alert').getByText('The store of the records is unavailable')
    for (const view of ['Live', 'Running', 'Records', 'Overview', 'Sinks']) {
      await openView(page, view)
      await message.waitFor()
      t.pass(view)
    }
    await openView(page, 'Live')
    await message.waitFor()
    isFailing = false
    await page.locator('tr.record').waitFor()
    await page.getByText('1 received, 5 left out').waitFor()
    await openView(page, 'Records')
    await page.getByText('No record matches.').waitFor()
    await openView(page, 'Overview')
    await page.getByText('No requests in this time.').waitFor()
    await openView(page, 'Sinks')
    await page.getByText('not reachable').waitFor()
    await page.close()
  })
})
