// `npm run record-fixture -- <record id>` prints a stored traffic record as a redacted test fixture. It reads the record through the
// admin API of a running gateway, whose key it takes from GATEWAY_ADMIN_API_KEY.
import { parseArgs } from 'node:util'
import { createFixture, type StoredExchange } from './fixture.ts'

const USAGE = 'Usage: GATEWAY_ADMIN_API_KEY=… npm run record-fixture -- <record id> [--url http://127.0.0.1:8090]'
const TIMEOUT_MS = 30_000

async function run(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { url: { type: 'string', default: 'http://127.0.0.1:8090' } }
  })
  const [id, ...others] = positionals
  const key = process.env.GATEWAY_ADMIN_API_KEY
  if (id === undefined || others.length > 0 || key === undefined || key === '') {
    process.stderr.write(`${USAGE}\n`)
    return 2
  }
  const read = async (path: string): Promise<unknown> => {
    const response = await fetch(`${values.url}/_admin/logs/${encodeURIComponent(id)}${path}`, {
      headers: { 'x-admin-api-key': key },
      signal: AbortSignal.timeout(TIMEOUT_MS)
    })
    const body: unknown = await response.json()
    if (response.ok) return body
    const { error } = body as { error?: { message?: string } }
    throw new Error(`The gateway answered ${response.status}: ${error?.message ?? 'no message'}`)
  }
  const [summary, request, response] = await Promise.all([read(''), read('/request'), read('/response')])
  const exchange = { summary, payload: { ...(request as object), ...(response as object) } } as StoredExchange
  process.stdout.write(`${JSON.stringify(createFixture(exchange), null, 2)}\n`)
  return 0
}

process.exitCode = await run().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  return 1
})
