// Summaries of conversations on the native upstream, by the official SDK and over restarts (memory.md 5); the other provider kinds are in
// `test/end-to-end/bridge/compaction.test.ts`.

import OpenAI from 'openai'
import t, { type Test } from 'tap'
import {
  emulatorVariables,
  readLog,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../../support/in-process-gateway.ts'
import { waitUntil } from '../../support/processes.ts'
import { lastReceived } from '../../support/upstream.ts'

const model = 'GigaChat-2'
const emulator = await startEmulator(t)

async function start(t: Test, env: Record<string, string> = {}) {
  const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), ...env } })
  const open = (prefix: string) => new OpenAI({ baseURL: gateway.url + prefix, apiKey: 'unused', maxRetries: 0 })
  return { gateway, v1: open('/v1'), v2: open('/v2') }
}

const listWarnings = (gateway: ServingGateway) =>
  readLog(gateway).filter(({ event }) => event === 'compaction_key_not_lasting')

const input = [{ role: 'user' as const, content: 'My name is Ada.' }]
const KEY = { GATEWAY_FINGERPRINT_KEY: 'kept over restarts' }

t.test(
  'memory 18: a compacted conversation goes on after a restart, and on another host with the same key',
  async t => {
    const first = await start(t, KEY)
    const other = await start(t, KEY)
    for (const name of ['v1', 'v2'] as const) {
      const compacted = await first[name].responses.compact({ model, input, instructions: 'be brief' })
      t.match(compacted, { object: 'response.compaction', id: /^resp_/, created_at: Number })
      t.match(compacted.output, [{ type: 'compaction', id: /^cmp_/, encrypted_content: /^gateway-summary:/ }])
      t.ok(compacted.usage.total_tokens > 0)
      t.match(JSON.stringify(lastReceived(emulator, '/chat/completions').body), /be brief.*Summarize the conversation/)
      const continued = await other[name].responses.create({
        model,
        input: [
          ...(compacted.output as OpenAI.Responses.ResponseInput),
          { role: 'user', content: 'Who am I? [[text:Ada]]' }
        ]
      })
      t.equal(continued.output_text, 'Ada')
      t.match(JSON.stringify(lastReceived(emulator, '/chat/completions').body), /summary of it.*You wrote.*Who am I/)
    }
    t.strictSame(listWarnings(first.gateway), [])
  }
)

t.test('memory 18: without a configured key one warning says what a restart would lose', async t => {
  const first = await start(t)
  const other = await start(t)
  const compact = () => first.v1.responses.compact({ model, input })
  const { output } = await compact()
  await compact()
  const again = [...(output as OpenAI.Responses.ResponseInput), ...input]
  t.match(await first.v1.responses.create({ model, input: again }), { status: 'completed' })
  await t.rejects(other.v1.responses.create({ model, input: again }), {
    status: 400,
    code: 'invalid_request',
    param: 'input[0].encrypted_content'
  })
  // The log is written behind the responses.
  await waitUntil(() => listWarnings(first.gateway).length > 0, 'the warning is logged')
  t.equal(listWarnings(first.gateway).length, 1)
})

t.test('memory 18: the SDK reads the stream of a summary, and a count takes what a response takes', async t => {
  const { v2 } = await start(t)
  const stream = v2.responses.stream({ model, input: [...input, { type: 'compaction_trigger' }] })
  const response = await stream.finalResponse()
  t.match(response.output, [{ type: 'compaction', encrypted_content: /^gateway-summary:/ }])
  const counted = await v2.responses.inputTokens.count({
    model,
    input: response.output as OpenAI.Responses.ResponseInput
  })
  t.ok(counted.input_tokens > 5)
})
