// The dashboard in front of an admin API whose responses a test decides: the page comes from a real worker.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { buildDashboard } from '../../ops/dashboard/build.ts'
import { parseSettings } from '../../shared/settings.ts'
import { startWorker, workerOptions } from './worker-app.ts'

export const ADMIN_KEY = 'admin-key-of-the-test'

/** Handles a request to the admin API. */
export type AdminHandler = (request: IncomingMessage, response: ServerResponse, url: URL) => void | Promise<void>

/** Starts both and returns the address of the page; they close with the test. */
export async function startDashboard(t: Test, handler: AdminHandler): Promise<string> {
  await buildDashboard()
  const worker = await startWorker(t, workerOptions(parseSettings({ GATEWAY_ADMIN_API_ENABLED: 'True' })))
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', worker.url)
    if (url.pathname.startsWith('/_admin/ui')) {
      const page = await fetch(url)
      response.writeHead(page.status, Object.fromEntries(page.headers)).end(Buffer.from(await page.arrayBuffer()))
    } else if (!url.pathname.startsWith('/_admin/') || request.headers['x-admin-api-key'] === ADMIN_KEY) {
      await handler(request, response, url)
    } else {
      sendJson(response, 403, { error: { code: 'invalid_admin_key', message: 'Invalid admin API key' } })
    }
  })
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/_admin/ui`
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Enters the key and waits until a view is shown: the one of this title, or the one that the address names. */
export async function enterKey(page: Page, view?: string): Promise<void> {
  await page.getByLabel('Admin key').fill(ADMIN_KEY)
  await page.getByRole('button', { name: 'Open' }).click()
  await page.getByRole('navigation').waitFor()
  if (view !== undefined) await openView(page, view)
}

/** In a cell of a row of records, beside the button that restricts the list to the value of the cell. */
export const ON_ROW = { position: { x: 250, y: 12 } }

/** Opens the view of this title. */
export async function openView(page: Page, title: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: title }).click()
}
