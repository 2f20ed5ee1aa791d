// The setting that makes an absent `store` mean stored, as in the client's own service.

import t from 'tap'
import { lastUpstreamChat } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { accumulate, ask, stream, textOf } from './support.ts'

const emulator = await startEmulator(t)
const env = { ...emulatorVariables(emulator), GATEWAY_RESPONSES_STORE_DEFAULT: 'true' }
const gateway = await startGateway(t, { env })

function sent() {
  return lastUpstreamChat(emulator).body
}

t.test('decisions.md 67: with the setting an absent store starts a conversation that can be continued', async t => {
  for (const more of [{}, { store: null }]) {
    const { json } = await ask(gateway, 'v2', '[[text:one]]', more)
    t.strictSame(sent().storage, {})
    t.equal(json.store, true)
    t.equal(json.id, `resp_${json.metadata.upstream_thread_id}`)
    const next = await ask(gateway, 'v2', '[[recall]]', { previous_response_id: json.id })
    t.match(textOf(next.json), /Before this you wrote/)
  }
  const { response } = await stream(gateway, 'v2', '[[text:one]]')
  t.equal(response.id, `resp_${response.metadata.upstream_thread_id}`)
  const first = await accumulate(gateway, 'v2', '[[text:one]]')
  t.equal((await accumulate(gateway, 'v2', 'x', { previous_response_id: first.id })).id, first.id)
})

t.test('decisions.md 67: with the setting store false stores nothing', async t => {
  const { json } = await ask(gateway, 'v2', 'x', { store: false })
  t.notOk('storage' in sent())
  t.equal(json.store, false)
})

t.test('decisions.md 67: the setting changes nothing on v1 and for other operations', async t => {
  const { status, json } = await ask(gateway, 'v1', 'x')
  t.equal(status, 200)
  t.equal(json.store, false)
  t.notOk('storage' in sent())
  const body = { model: 'GigaChat-2', messages: [{ role: 'user', content: 'x' }] }
  await fetch(`${gateway.url}/v2/chat/completions`, { method: 'POST', body: JSON.stringify(body) })
  t.notOk('storage' in sent())
})

t.test('decisions.md 67: the setting applies to bodies that a pool thread translates', async t => {
  const pooled = await startGateway(t, { env: { ...env, GATEWAY_POOL_THRESHOLD_BYTES: '1' } })
  const { json } = await ask(pooled, 'v2', '[[text:one]]')
  t.strictSame(sent().storage, {})
  t.match(json, { store: true, id: `resp_${json.metadata.upstream_thread_id}` })
})
