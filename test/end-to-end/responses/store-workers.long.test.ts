// What one worker has stored, every other one reads before the client has the end of the response (memory.md 6).
import t from 'tap'
import { get } from '../../support/client.ts'
import { readLog } from '../../support/gateway.ts'
import { STORE_MODEL, startStoreGateway } from '../../support/store-gateway.ts'

const ROUNDS = 50
const WORKERS = 8

/** Streams a response and calls `onEnd` with its id as soon as the terminal event is here. */
async function stream(url: string, body: object, onEnd: (id: string) => Promise<void>): Promise<void> {
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ model: STORE_MODEL, stream: true, ...body })
  })
  const decoder = new TextDecoder()
  let text = ''
  let ended: Promise<void> | undefined
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (ended === undefined && text.includes('event: response.completed')) {
      ended = onEnd(/"id":"(resp_[\w-]{32})"/.exec(text)?.[1] ?? '')
    }
  }
  if (ended === undefined) throw new Error(`The stream has no terminal event:\n${text}`)
  await ended
}

t.test('memory 4: every worker reads what another one wrote, before its client has the terminal event', async t => {
  const gateway = await startStoreGateway(t, { env: { GATEWAY_WORKERS: String(WORKERS), GATEWAY_ACCESS_LOG: 'true' } })
  const failures: string[] = []
  let previous: string | undefined
  for (let round = 0; round < ROUNDS; round += 1) {
    // A chain of ten turns, so that histories are read as well.
    const body = { input: `round ${round}`, previous_response_id: round % 10 === 0 ? undefined : previous }
    await stream(gateway.url, body, async id => {
      previous = id
      // New connections, which the system gives to any worker.
      const reads = Array.from({ length: WORKERS }, () =>
        get(`${gateway.url}/v1/responses/${id}`, { connection: 'close' })
      )
      for (const { status, json } of await Promise.all(reads)) {
        if (status !== 200 || json.status !== 'completed') failures.push(`${round}: ${status}`)
      }
    })
  }
  t.same(failures, [])
  t.equal(await gateway.stop(), 0)
  const reads = readLog(gateway).filter(({ event, method }) => event === 'http_access' && method === 'GET')
  t.equal(new Set(reads.map(({ worker }) => worker)).size, WORKERS, 'all workers have read')
})
