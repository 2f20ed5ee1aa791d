import { pino } from 'pino'
import t from 'tap'
import { createCallContext } from '../../../worker/execution/call-context.ts'
import { sendJson } from '../../../worker/http/respond.ts'
import { mountOperation } from '../../support/operations.ts'
import { startApplication } from '../http/support.ts'

t.test('headers beyond the bound are dropped and reported in one debug line', async t => {
  const logged: Array<Record<string, unknown>> = []
  const log = pino({ level: 'debug' }, { write: line => logged.push(JSON.parse(line)) })
  const { url } = await startApplication(t, {
    routes: app =>
      mountOperation(app, {
        method: 'POST',
        path: '/messages',
        family: 'messages',
        isModelRequest: true,
        handler(request, reply) {
          const { headers } = createCallContext({ log }, request.context, {}, { forwardsHeaders: true })
          sendJson(reply, 200, {}, JSON.stringify(headers.length))
        }
      })
  })
  const headers = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`x-h${index}`, 'v']))
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body: '{}' })
  t.equal(await response.json(), 2 * 66)
  t.same(
    logged.map(({ event, count, level }) => ({ event, count, level })),
    [{ event: 'headers_dropped', count: 6, level: 20 }]
  )
})
