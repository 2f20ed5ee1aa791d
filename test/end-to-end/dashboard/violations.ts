// Asks the accessibility rules of axe-core about a page.
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import type { Page } from 'playwright-core'

const axe = readFileSync(join(dirname(findPackageJSON('axe-core', import.meta.url) ?? ''), 'axe.min.js'), 'utf8')

/** Rules that the page breaks seriously, with what breaks them. */
export async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const found = await page.evaluate(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
  return found as string[]
}
