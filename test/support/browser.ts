// A headless browser for the pages that the gateway serves.
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const EXECUTABLE = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'

/** Why tests with a browser are skipped here; false where they run. On a build server a missing browser is a failure. */
export const browserSkip: string | false =
  existsSync(EXECUTABLE) || process.env.CI !== undefined ? false : `there is no browser at ${EXECUTABLE}`

/** Starts a browser that closes with the test. */
export async function startBrowser(t: Test): Promise<Browser> {
  // The sandbox needs rights that test environments rarely have; the pages are our own.
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  return browser
}

/** A page with what it complained about: console messages, uncaught errors, and requests to other hosts. */
export async function openPage(
  browser: Browser,
  url: string,
  options: { width?: number; colorScheme?: 'light' | 'dark' } = {}
): Promise<{ page: Page; complaints: string[] }> {
  const { width = 1200, colorScheme = 'light' } = options
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
  const complaints: string[] = []
  page.on('console', message => complaints.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', error => complaints.push(error.message))
  page.on('request', request => {
    const address = request.url()
    if (!address.startsWith('data:') && new URL(address).origin !== new URL(url).origin) complaints.push(address)
  })
  await page.goto(url)
  return { page, complaints }
}
