// Scrapes a gateway as Prometheus does, and reads the text strictly.

import { get as request } from 'node:http'
import { type MetricsText, readMetricsText } from './metrics-text.ts'
import { waitUntil } from './processes.ts'

export interface Scrape {
  readonly status: number
  readonly contentType: string | undefined
  readonly text: string
}

/** Gets the metrics on a new connection, so that any worker may respond. */
export function fetchMetrics(url: string, headers: Record<string, string> = {}): Promise<Scrape> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent: false, headers }, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          contentType: response.headers['content-type'],
          text: Buffer.concat(chunks).toString()
        })
      )
    })
    outgoing.on('error', reject)
  })
}

/** The samples of a scrape. Throws when it does not succeed or its text is not strictly right. */
export async function scrape(gateway: { url: string }, path = '/metrics'): Promise<MetricsText> {
  const { status, text } = await fetchMetrics(gateway.url + path)
  if (status !== 200) throw new Error(`The scrape has status ${status}: ${text}`)
  return readMetricsText(text)
}

/**
 * Scrapes until the condition holds, and resolves with that scrape: a request is counted a moment after its client has read the
 * response.
 */
export async function scrapeUntil(
  gateway: { url: string },
  condition: (metrics: MetricsText) => boolean,
  what: string
): Promise<MetricsText> {
  let last = await scrape(gateway)
  await waitUntil(async () => {
    if (condition(last)) return true
    last = await scrape(gateway)
    return false
  }, what)
  return last
}
