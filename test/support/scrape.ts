// Scrapes a started gateway.

import { type MetricsText, readMetricsText } from './metrics-text.ts'
import { waitUntil } from './processes.ts'

/** The metrics in the text form, over a connection of its own, so that any worker may answer. Rejects when the gateway refuses. */
export async function scrape(gateway: { url: string }, path = '/metrics'): Promise<MetricsText> {
  const response = await fetch(gateway.url + path, { headers: { connection: 'close' } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`The scrape got ${response.status}: ${text}`)
  return readMetricsText(text)
}

/** Scrapes until the condition holds. */
export async function scrapeUntil(
  gateway: { url: string },
  what: string,
  holds: (metrics: MetricsText) => boolean
): Promise<MetricsText> {
  let last = await scrape(gateway)
  await waitUntil(async () => {
    if (!holds(last)) last = await scrape(gateway)
    return holds(last)
  }, what)
  return last
}
