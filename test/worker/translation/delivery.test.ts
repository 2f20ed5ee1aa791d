import t from 'tap'
import { clientFaces } from '../../../worker/protocols/registry.ts'
import { describeDelivery } from '../../../worker/translation/chat.ts'

const messages = [{ role: 'user', content: 'hi' }]

function read(members: object) {
  return clientFaces.completions.readRequest({ model: 'm', messages, ...members }, { requestId: 'r' })
}

t.test('an executor gets what it reads of a request, and a passed call nothing that its provider does', async t => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }]
  const request = read({ stream: true, stop: ['a', 'b'], tools, parallel_tool_calls: false })
  t.strictSame(describeDelivery(request, false), { isStream: true, stops: ['a', 'b'], keepsFirstCallOnly: true })
  // An empty stop string would end every text.
  t.strictSame(describeDelivery({ ...request, sampling: { stop: ['a', ''] } }, false).stops, ['a'])
  t.strictSame(describeDelivery(request, true), { isStream: true, stops: [] })
  t.strictSame(describeDelivery(read({ tools, parallel_tool_calls: true }), false), { isStream: false, stops: [] })
})
