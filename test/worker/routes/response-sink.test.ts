import t from 'tap'
import type { NormalizedEvent } from '../../../worker/normalized/index.ts'
import { WholeResponseSink } from '../../../worker/routes/response-sink.ts'
import { messagesRoute, startApplication } from '../http/support.ts'
import { responseContext } from '../protocols/responses/client/support.ts'

t.test('cost 7: a whole response of many items is written in a turn of the event loop of its own', async t => {
  let turns = 0
  const ownTurn = async () => {
    turns++
  }
  const face = { writeResponse: ({ items }: { items: unknown[] }) => ({ items: items.length }) }
  const { url } = await startApplication(t, {
    routes: messagesRoute(async (request, reply) => {
      const { count } = JSON.parse(String(request.headers['x-test']))
      const options = { reply, protocol: 'messages' as const, face: face as never, responseContext: responseContext() }
      const sink = new WholeResponseSink(options, { isLarge: () => false, ownTurn } as never)
      sink.push(listCalls(count))
      await sink.finish()
    })
  })
  const send = async (count: number) => {
    const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers: { 'x-test': `{"count":${count}}` } })
    return response.json()
  }
  t.same(await send(100), { items: 100 })
  t.equal(turns, 0, 'ordinary responses wait for nothing')
  t.same(await send(1000), { items: 1000 })
  t.equal(turns, 1)
})

function listCalls(count: number): NormalizedEvent[] {
  const calls = Array.from({ length: count }, (_, index): NormalizedEvent[] => [
    { type: 'tool-call-start', index, id: `call-${index}`, name: 'f' },
    { type: 'tool-call-delta', index, arguments: '{}' },
    { type: 'tool-call-end', index }
  ])
  return [
    { type: 'start', providerModel: null, metadata: {} },
    ...calls.flat(),
    { type: 'finish', reason: 'tool-calls', providerReason: null, metadata: {} }
  ]
}
