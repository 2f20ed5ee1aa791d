// The option with which the native upstream is asked for several calls in one response: when it is sent, and what happens when the
// upstream refuses it.

import t from 'tap'
import { lastUpstreamChat, post, type UpstreamChat, upstreamChats } from '../support/client.ts'
import {
  emulatorVariables,
  readLog,
  type ServingGateway,
  startEmulator,
  startGateway
} from '../support/in-process-gateway.ts'
import { families } from './tool-loops/families.ts'

const emulator = await startEmulator(t)
const start = (policy?: string) =>
  startGateway(t, { env: { ...emulatorVariables(emulator), GATEWAY_PARALLEL_TOOL_CALLS: policy } })
const [auto, explicit, off] = await Promise.all([start(), start('explicit'), start('off')])
const largest = 'GigaChat-2-Max'

const isSent = ({ body }: UpstreamChat) => body.parallel_tool_calls
/** Sends a chat over the completions family, and returns whether the upstream received the option. */
async function sendChat(gateway: ServingGateway, body: object): Promise<unknown> {
  const messages = [{ role: 'user', content: 'hi' }]
  const { status, text } = await post(`${gateway.url}/v2/chat/completions`, { model: largest, messages, ...body })
  if (status !== 200) throw new Error(text)
  return isSent(lastUpstreamChat(emulator))
}

for (const family of families) {
  t.test(`decisions.md 50: the option follows the client's word and the setting: ${family.name}`, async t => {
    const ask = async (gateway: ServingGateway, more?: object, version: 'v1' | 'v2' = 'v2', model = largest) => {
      const question = { url: gateway.url, version, model, isStream: false, ...(more === undefined ? {} : { more }) }
      await family.ask(question, [family.writeUser('hi')])
      return isSent(lastUpstreamChat(emulator))
    }
    t.equal(await ask(auto), true)
    t.equal(await ask(auto, {}, 'v1'), undefined)
    t.equal(await ask(auto, {}, 'v2', 'GigaChat-2'), undefined)
    // A content client has no word for it: several declarations are its request.
    t.equal(await ask(explicit), family.request === undefined ? true : undefined)
    t.equal(await ask(off), undefined)
    if (family.request === undefined) return
    t.equal(await ask(auto, family.request), true)
    t.equal(await ask(auto, family.refusal), undefined)
    t.equal(await ask(explicit, family.request), true)
    t.equal(await ask(explicit, family.refusal), undefined)
    t.equal(await ask(off, family.request), undefined)
  })
}

t.test('decisions.md 50: a silent client is given several calls only where it can be given them', async t => {
  const f = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object', properties: {} } } })
  const two = [f('f'), f('g')]
  t.equal(await sendChat(auto, { tools: two }), true)
  t.equal(await sendChat(auto, { tools: two, tool_choice: 'required' }), true)
  t.equal(await sendChat(auto, { tools: [f('f')] }), undefined, 'a single function')
  t.equal(await sendChat(auto, { tools: two, tool_choice: 'none' }), undefined)
  t.equal(await sendChat(auto, { tools: two, tool_choice: { type: 'function', function: { name: 'f' } } }), undefined)
  t.equal(await sendChat(auto, { functions: two.map(tool => tool.function) }), undefined, 'the form for one call')
  t.equal(await sendChat(auto, {}), undefined)
})

for (const [name, gateway, isStream, status] of [
  ['whole, 422', auto, false, 422],
  ['streamed, 400', explicit, true, 400]
] as const) {
  t.test(`decisions.md 50: an upstream that refuses the option is asked once more without it: ${name}`, async t => {
    const [family] = families
    if (family === undefined) throw new Error('There are families.')
    const question = { url: gateway.url, version: 'v2', model: largest, isStream, more: family.request ?? {} } as const
    const refusing = [family.writeUser(`[[refuse:parallel_tool_calls ${status}]][[tool:get_time {}]]`)]
    const asked = () => upstreamChats(emulator).map(isSent)

    t.comment('a refusal that stays is the error of the upstream, and proves nothing about the option')
    emulator.reset()
    const lasting = [family.writeUser(`[[error:${status} message=no parallel_tool_calls for you]]`)]
    await t.rejects(family.ask(question, lasting), /no parallel_tool_calls for you/)
    t.strictSame(asked(), [true, undefined])

    t.comment('a refusal of another cause is not repeated')
    emulator.reset()
    await t.rejects(family.ask(question, [family.writeUser(`[[error:${status} message=no]]`)]), /no/)
    t.strictSame(asked(), [true])

    t.comment('the repeated call has the same body otherwise')
    emulator.reset()
    const turn = await family.ask(question, refusing)
    t.strictSame(
      turn.calls.map(call => call.name),
      ['get_time']
    )
    const [first, second, ...others] = upstreamChats(emulator).map(({ body }) => body)
    t.strictSame(others, [])
    t.strictSame({ ...second, parallel_tool_calls: true }, first)

    t.comment('from then on the worker does not send it')
    emulator.reset()
    await family.ask(question, refusing)
    t.strictSame(asked(), [undefined])

    t.comment('the log has one line about it, and none about the call that succeeded in the end')
    await gateway.stop()
    const count = (name: string) => readLog(gateway).filter(({ event }) => event === name).length
    t.equal(count('upstream_option_refused'), 1)
    t.equal(count('upstream_call_failed'), 2)
  })
}
