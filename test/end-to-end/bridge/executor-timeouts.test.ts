// The real time limits of external providers. Both cases run at once, because each takes half a minute.

import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { sendJson, startStub } from '../../worker/providers/support/stub-upstream.ts'
import { askIn, families, readError } from '../system/support.ts'
import {
  beginStream,
  chatAnswer,
  chatProfile,
  chunkOf,
  endStream,
  startBridge,
  writeChunks
} from './executor-support.ts'

t.jobs = 2

const LIMIT_MS = 30_000
/** A timer may fire a moment before its time by another clock. */
const TOLERANCE_MS = 100
const PAUSE_MS = 16_000

t.test('bridge 87: a provider that is silent for longer than 30 s is a timeout after one attempt', async t => {
  const provider = await startStub(async (_request, response) => {
    await setTimeout(LIMIT_MS + 1000)
    if (!response.destroyed) sendJson(response, 200, chatAnswer('late'))
  })
  t.teardown(() => provider.close())
  const gateway = await startBridge(t, { profiles: [chatProfile('p1', `${provider.origin}/v1`, { 'bridge/a': 'm' })] })
  const startedAtMs = performance.now()
  const asked = families.flatMap(family =>
    [false, true].map(async stream => {
      const response = await askIn(gateway, family, 'hi', { model: 'bridge/a', stream })
      t.ok(performance.now() - startedAtMs >= LIMIT_MS - TOLERANCE_MS, family)
      t.equal(response.status, 504, family)
      const { code } = readError(family, response)
      if (code !== null) t.equal(code, 'provider_timeout', family)
    })
  )
  await Promise.all(asked)
  t.equal(provider.requests.length, asked.length)
  t.match(
    gateway.lines.filter(line => line.event === 'upstream_call_failed'),
    asked.map(() => ({ reason_id: 'timeout' }))
  )
})

t.test('bridge 89: a stream with long pauses is complete, although it lasts longer than the limit', async t => {
  const provider = await startStub(async (_request, response) => {
    beginStream(response, chunkOf({ role: 'assistant', content: 'One ' }))
    await setTimeout(PAUSE_MS)
    writeChunks(response, chunkOf({ content: 'two ' }))
    await setTimeout(PAUSE_MS)
    writeChunks(response, chunkOf({ content: 'three' }))
    endStream(response)
  })
  t.teardown(() => provider.close())
  const gateway = await startBridge(t, { profiles: [chatProfile('p1', `${provider.origin}/v1`, { 'bridge/a': 'm' })] })
  const terminal = {
    completions: /\[DONE\]/,
    responses: /event: response\.completed/,
    messages: /event: message_stop/,
    content: /"finishReason":"STOP"/
  }
  const startedAtMs = performance.now()
  await Promise.all(
    families.map(async family => {
      const response = await askIn(gateway, family, 'hi', { model: 'bridge/a', stream: true })
      t.ok(performance.now() - startedAtMs > LIMIT_MS, family)
      t.equal(response.status, 200, family)
      for (const word of ['One ', 'two ', 'three']) t.ok(response.text.includes(word), `${family} ${word}`)
      t.match(response.text, terminal[family], family)
    })
  )
})
