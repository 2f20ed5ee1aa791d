// Alone: it waits for some seconds, in which other files can run.

// Streams and connections over time: pauses, silence, disconnects, limits.

import t from 'tap'
import { waitUntil } from '../../support/processes.ts'
import { chatBaseUrl, writeChatProfile } from '../../support/profile-gateway.ts'
import { readEnd } from '../system/support.ts'
import { families, openStream, send } from './families.ts'
import { chat, startBridge } from './providers/index.ts'

const bridge = await startBridge(t)
const { gateway, emulator } = bridge
const { aliases } = chat
const model = aliases.keyless

t.test(
  'bridge 87, 89: silence beyond the times of a profile is a timeout after one attempt, shorter ones are none',
  async t => {
    const hasty = await startBridge(t, {
      profiles: played => [
        writeChatProfile({
          id: 'hasty',
          baseUrl: chatBaseUrl(played, 'hasty'),
          aliases: [{ alias: 'hasty/model' }],
          more: { timeouts: { first_byte_seconds: 4, idle_seconds: 4 } }
        })
      ]
    })
    const ask = { model: 'hasty/model' }
    const before = hasty.listCalls().length
    // All wait at the same time: the pauses of a stream are longer together than the limit of each.
    const paused = families.map(async family => {
      const prompt = '[[tick:1500]][[reasonform:think]][[chunks:whole]][[usageform:finish]]'
      const response = await send(hasty.gateway.url, family, { ...ask, prompt, isStream: true })
      t.equal(response.isCut, false, family.name)
      const outcome = family.readStream(response)
      t.equal(outcome.text, 'whole', family.name)
      t.match(outcome.finish, /^(stop|completed|end_turn|STOP)$/)
      t.equal(readEnd(family.name, response.text), 'success', family.name)
    })
    const silent = families.flatMap(family =>
      [false, true].map(async isStream => {
        const put = (prompt: string) => send(hasty.gateway.url, family, { ...ask, prompt, isStream })
        const [late, silent] = await Promise.all([put('[[slow:1000]]'), put('[[slow:15000]]')])
        t.equal(late.status, 200, `${family.name}: shorter silence is none`)
        t.equal(silent.status, 504, `${family.name}: ${silent.text}`)
        t.equal(family.readFailure(silent).code, 'provider_timeout')
      })
    )
    await Promise.all([...paused, ...silent])
    t.equal(hasty.listCalls().length - before, paused.length + 2 * silent.length, 'one attempt each')
  }
)

t.test('bridge 93: a client that leaves after the first delta frees its connection and its slot', async t => {
  const limited = await startBridge(t, {
    env: {
      GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [aliases.keyless]: 1 }),
      GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
    }
  })
  for (const family of families) {
    const before = limited.emulator.stats.aborted
    const question = { model: aliases.keyless, prompt: '[[tick:20]][[len:5000]]', isStream: true }
    const controller = new AbortController()
    const response = await openStream(limited.gateway.url, family, question, controller.signal)
    t.equal(response.status, 200, family.name)
    const reader = response.body?.getReader()
    for (let text = ''; !text.includes('word1'); ) text += Buffer.from((await reader?.read())?.value ?? []).toString()
    controller.abort()
    await limited.emulator.waitFor(({ stats }) => stats.aborted > before, 5_000)
    await waitUntil(async () => {
      const next = await send(limited.gateway.url, family, { model: aliases.keyless, prompt: 'Hi' })
      return next.status === 200
    }, 'the slot is free')
  }
})

t.test('a client that leaves before the first byte ends the work of the provider (H2, H3)', async t => {
  for (const family of families) {
    for (const isStream of [false, true]) {
      const before = emulator.stats.aborted
      const controller = new AbortController()
      const question = { model, prompt: '[[hang]]', isStream }
      const left = fetch(gateway.url + family.path(question), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(family.body(question)),
        signal: controller.signal
      }).catch(() => undefined)
      await emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
      controller.abort()
      await left
      await emulator.waitFor(({ stats }) => stats.aborted > before && stats.activeChatRequests === 0)
      t.pass(family.name)
    }
  }
})

t.test('bridge 94: a second request beyond the limit is refused, whole and streamed', async t => {
  const limited = await startBridge(t, {
    env: {
      GATEWAY_MODEL_MAX_CONNECTIONS: JSON.stringify({ [aliases.keyless]: 1 }),
      GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
    }
  })
  for (const family of families) {
    const hold = new AbortController()
    const question = { model: aliases.keyless, prompt: '[[hang:3]][[chunks:a|b|c]]', isStream: true }
    const held = await fetch(limited.gateway.url + family.path(question), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(family.body(question)),
      signal: hold.signal
    })
    t.equal(held.status, 200)
    for (const isStream of [false, true]) {
      const response = await send(limited.gateway.url, family, { model: aliases.keyless, prompt: 'Hi', isStream })
      t.equal(response.status, 429, `${family.name}: ${response.text}`)
      t.match(response.text, /model_concurrency_limit/)
      const other = await send(limited.gateway.url, family, { model: aliases.keyed, prompt: 'Hi', isStream })
      t.equal(other.status, 200, 'another provider has its own limit')
    }
    hold.abort()
    await limited.emulator.waitFor(({ stats }) => stats.activeChatRequests === 0)
    // The slot is free a moment after the provider's connection is closed.
    await waitUntil(
      async () => (await send(limited.gateway.url, family, { model: aliases.keyless, prompt: 'Hi' })).status === 200,
      'the slot is free'
    )
  }
})

t.test('two profiles with one model name of their providers have a limit each', async t => {
  const twins = await startBridge(t, {
    env: {
      GATEWAY_MODEL_MAX_CONNECTIONS_DEFAULT: '1',
      GATEWAY_MODEL_MAX_CONNECTIONS_ACQUIRE_TIMEOUT: '0'
    },
    profiles: () => [
      writeChatProfile({
        id: 'twin',
        baseUrl: chatBaseUrl(emulator, 'twin'),
        aliases: [{ alias: 'twin/a', model: 'emulator-small' }]
      })
    ]
  })
  const [family] = families
  if (family === undefined) throw new Error('No family.')
  const hold = new AbortController()
  const held = fetch(twins.gateway.url + family.path({ model: '', prompt: '' }), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(family.body({ model: aliases.keyless, prompt: '[[hang]]' })),
    signal: hold.signal
  }).catch(() => undefined)
  await twins.emulator.waitFor(({ stats }) => stats.activeChatRequests === 1)
  t.equal((await send(twins.gateway.url, family, { model: aliases.keyless, prompt: 'Hi' })).status, 429)
  t.equal((await send(twins.gateway.url, family, { model: 'twin/a', prompt: 'Hi' })).status, 200)
  hold.abort()
  await held
})
