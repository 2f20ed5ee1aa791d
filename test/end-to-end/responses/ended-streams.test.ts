// Streams without an end on every route: what is stored of them is what their clients have seen, and a client that comes back gets the rest
// (memory.md 2, case 12).

import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { get, postUntilCut, readFrames, readUntilCut } from '../../support/client.ts'
import { writeChatProfile } from '../../support/profile-gateway.ts'
import { openTemporaryStore } from '../../support/response-store.ts'
import { NATIVE_ALIAS, providers, responses, startBridge } from '../bridge/providers/index.ts'
import { findRecord, type Loose } from './memory-support.ts'

/** A service of this wire whose state the gateway keeps. */
const OWN_STATE = 'own-state/gpt'

const routes = [
  { name: 'native v1', version: 'v1', model: NATIVE_ALIAS },
  { name: 'native v2', version: 'v2', model: NATIVE_ALIAS },
  { name: 'its own wire', version: 'v1', model: OWN_STATE },
  ...providers
    .filter(provider => provider !== responses)
    .map(({ name, aliases }) => ({ name, version: 'v1', model: aliases.keyed }))
] as const

async function start(t: Test, env: Record<string, string> = {}) {
  const store = await openTemporaryStore(t)
  const { gateway } = await startBridge(t, {
    memory: store,
    env,
    profiles: emulator => [
      writeChatProfile({
        id: 'own-state',
        kind: responses.kind as never,
        baseUrl: responses.baseUrl(emulator, 'keyless', 'responses-keyless'),
        aliases: [{ alias: OWN_STATE, model: responses.models.keyless }],
        more: { ...responses.more, state: 'gateway' }
      })
    ]
  })
  return { store, gateway }
}

/** The events of a stream that its client leaves after this many texts. */
async function readUntilLeft(url: string, body: object, texts: number): Promise<Loose[]> {
  const leave = new AbortController()
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ ...body, stream: true }),
    signal: leave.signal
  })
  let text = ''
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString()
    if (text.split('event: response.output_text.delta').length > texts) break
  }
  leave.abort()
  return readFrames(text.slice(0, text.lastIndexOf('\n\n') + 2))
}

function textOf(events: Loose[]): string {
  return events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('')
}

const { store, gateway } = await start(t)

for (const { name, version, model } of routes) {
  const url = `${gateway.url}/${version}/responses`

  t.test(`memory 12: a left stream of ${name} is stored as incomplete, and its client gets the rest`, async t => {
    const seen = await readUntilLeft(url, { model, input: '[[reason:because]][[tick:40]][[len:50]]' }, 3)
    const { id } = seen[0].response
    let record: Loose
    while (record === undefined) {
      await sleep(20)
      record = await findRecord(store, id)
    }
    t.match(record, { status: 'incomplete', body: { id, status: 'incomplete', error: null } })
    const item = record.output.at(-1)
    t.match(item, { type: 'message', status: 'incomplete' })
    const kept = item.content[0].text
    t.ok(kept.startsWith(textOf(seen)) && kept !== '', `${kept} begins with ${textOf(seen)}`)
    const added = seen.filter(({ type }) => type === 'response.output_item.added')
    t.same(
      record.output.map(({ id: itemId }: Loose) => itemId),
      added.map(({ item: { id: itemId } }) => itemId)
    )
    const read = await get(`${gateway.url}/${version}/responses/${id}`)
    t.match(read.json, { id, status: 'incomplete', output: record.output })
    const last = seen.at(-1).sequence_number
    const rest = readFrames((await get(`${gateway.url}/responses/${id}?stream=true&starting_after=${last}`)).text)
    t.match(rest.at(-1), { type: 'response.incomplete', response: { id, status: 'incomplete' } })
    t.ok(rest.every(({ sequence_number: number }) => number > last))
  })

  t.test(`memory 12: a failed stream of ${name} is stored as its client has seen it`, async t => {
    const { text } = await postUntilCut(url, { model, input: '[[text:one two three]][[len:6]][[die:5]]', stream: true })
    const { type, response } = readFrames(text).at(-1)
    t.equal(type, 'response.failed')
    const read = await get(`${gateway.url}/${version}/responses/${response.id}`)
    t.match(read.json, { status: 'failed', error: response.error, id: response.id })
    t.same(read.json.output, response.output)
  })
}

t.test('memory 12: a stream that the drain cuts is stored as incomplete, with what its client has seen', async t => {
  for (const { name, version, model } of routes.slice(1, 4)) {
    const drained = await start(t, { GATEWAY_SHUTDOWN_TIMEOUT_SECONDS: '1' })
    const answer = await fetch(`${drained.gateway.url}/${version}/responses`, {
      method: 'POST',
      body: JSON.stringify({ model, input: '[[tick:100]][[len:100]]', stream: true })
    })
    const started = Promise.withResolvers<void>()
    const cut = readUntilCut(answer, piece => {
      if (piece.includes('output_text.delta')) started.resolve()
    })
    await started.promise
    await drained.gateway.stop()
    const events = readFrames((await cut).text)
    const { type, response } = events.at(-1)
    t.equal(type, 'response.failed', name)
    const record = await findRecord(drained.store, response.id)
    t.match(record, { status: 'incomplete', lastSequenceNumber: events.at(-1).sequence_number })
    t.equal(record.output.at(-1).content[0].text, textOf(events), name)
  }
})
