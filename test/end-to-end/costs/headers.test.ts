// Headers that a client sends to reach or to harm the upstream, through a started gateway.

import t from 'tap'
import { post } from '../../support/client.ts'
import { emulatorVariables, readLog, startEmulator, startGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { lastReceived } from '../../support/upstream.ts'
import { askIn, families, readError } from '../system/support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_LOG_LEVEL: 'DEBUG' } })

t.test(
  'cost 21: headers that the upstream would refuse with 431 are dropped, counted, and the rest arrives',
  async t => {
    const parts = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`x-part-${index}`, 'v'.repeat(1000)]))
    for (const [sent, dropped] of [
      [{ 'x-long': 'v'.repeat(15_700) }, 1],
      [{ 'x-session-id': 'v'.repeat(15_700) }, 1],
      [parts, 3]
    ] as const) {
      for (const family of families) {
        const response = await askIn(gateway, family, 'hi', { headers: { ...sent, 'x-short': family } })
        t.equal(response.status, 200, family)
        const { headers } = lastReceived(emulator, '/chat/completions')
        t.equal(headers['x-short'], family)
        t.notOk('x-long' in headers || 'x-session-id' in headers)
        const findLine = () =>
          readLog(gateway).find(
            ({ event, request_id }) =>
              event === 'headers_dropped' && request_id === response.headers.get('x-request-id')
          )
        await waitUntil(() => findLine() !== undefined, 'the dropped headers are logged')
        t.equal(findLine()?.count, dropped)
      }
    }
  }
)

t.test('cost 21: long extra headers of the body are dropped, and very many are refused by their field', async t => {
  for (const family of families) {
    const long = { extra_headers: { 'x-long': 'v'.repeat(100_000), 'x-short': family } }
    t.equal((await askIn(gateway, family, 'hi', { more: long })).status, 200, family)
    t.equal(lastReceived(emulator, '/chat/completions').headers['x-short'], family)
    const names = Array.from({ length: 1001 }, (_, index) => [`x-${index}`, 'v'])
    const many = { extra_headers: Object.fromEntries(names) }
    const refused = await askIn(gateway, family, 'hi', { more: many })
    t.equal(refused.status, 400, family)
    t.match(readError(family, refused).message, /extra headers/)
  }
  const embeddings = await post(`${gateway.url}/v1/embeddings`, {
    input: 'x',
    extra_headers: { 'x-long': 'v'.repeat(100_000) }
  })
  t.equal(embeddings.status, 200)
})
