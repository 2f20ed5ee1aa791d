// A stream that starts a stored conversation, whose thread the upstream names only in its last event.

import OpenAI from 'openai'
import t from 'tap'
import { emulatorVariables, startEmulator, startGateway } from '../support/in-process-gateway.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: '1', UPSTREAM_TIMEOUT: '5' }
})
const client = new OpenAI({ baseURL: `${gateway.url}/v2`, apiKey: 'unused', maxRetries: 0 })
const request = { model: 'GigaChat-2', input: '[[tick:20]][[chunks:a|b|c]]', store: true }

async function continueFrom(id: string): Promise<string> {
  const next = await client.responses.create({ model: 'GigaChat-2', input: '[[text:next]]', previous_response_id: id })
  return next.output_text
}

t.test(
  'the stream helper gets one id in all events, and the next request continues the conversation with it',
  async t => {
    const stream = client.responses.stream(request)
    const ids = new Set<string>()
    stream.on('event', event => {
      if ('response' in event) ids.add(event.response.id)
    })
    const response = await stream.finalResponse()
    t.equal(response.output_text, 'abc')
    t.strictSame([...ids], [response.id])
    t.equal(await continueFrom(response.id), 'next')
  }
)

t.test(
  'responses 63: an iterating client gets each text immediately, and the id of the thread in the last event',
  async t => {
    const ids: string[] = []
    const itemIds = new Set<string>()
    for await (const event of await client.responses.create({ ...request, stream: true })) {
      if ('response' in event) ids.push(event.response.id)
      if ('item_id' in event) itemIds.add(event.item_id)
    }
    t.equal(itemIds.size, 1)
    const [announced, , final] = ids
    t.equal(ids.length, 3)
    t.not(announced, final)
    t.equal(await continueFrom(final ?? ''), 'next')
  }
)
