// The Responses operation of the official `openai` package with a started gateway, as an application uses it.

import OpenAI from 'openai'
import t from 'tap'
import { lastUpstreamChat } from '../support/client.ts'
import { catchError } from '../support/errors.ts'
import { emulatorVariables, startEmulator, startGateway } from '../support/in-process-gateway.ts'
import { testResponses } from './official-sdks/openai-responses.ts'
import { nativePlace } from './official-sdks/place.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_WORKERS: '2', UPSTREAM_TIMEOUT: '5' }
})

const model = 'GigaChat-2-Max'

for (const version of ['v1', 'v2'] as const) testResponses(nativePlace(gateway, emulator, version))

t.test('v2: a conversation of three turns continues with previous_response_id, whole and streamed', async t => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v2`, apiKey: 'unused', maxRetries: 0 })
  for (const isStream of [false, true]) {
    const ask = (request: { input: string; store?: boolean; previous_response_id?: string }) =>
      isStream
        ? client.responses.stream({ model, ...request }).finalResponse()
        : client.responses.create({ model, ...request })
    const first = await ask({ input: '[[text:one]]', store: true })
    t.equal(first.output_text, 'one')
    t.strictSame(lastUpstreamChat(emulator).body.storage, {})
    let previous = first.id
    for (const word of ['two', 'three']) {
      const next = await ask({ input: `[[text:${word}]]`, previous_response_id: previous })
      t.equal(next.output_text, word)
      const { body } = lastUpstreamChat(emulator)
      t.strictSame(body.storage, { thread_id: previous.replace('resp_', '') })
      t.notOk('model' in body)
      previous = next.id
    }
  }
  t.match(
    await catchError(() => client.responses.create({ model, input: 'x', previous_response_id: 'resp_unknown' })),
    {
      status: 404,
      code: 'previous_response_not_found',
      param: 'previous_response_id'
    }
  )
})

t.test('v1: a stored conversation is refused with its field (F4)', async t => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused', maxRetries: 0 })
  for (const [request, param] of [
    [{ store: true }, 'store'],
    [{ previous_response_id: 'resp_x' }, 'previous_response_id']
  ] as const) {
    t.match(await catchError(() => client.responses.create({ model, input: 'x', ...request })), {
      status: 400,
      code: 'unsupported_semantic',
      param
    })
  }
})

t.test('v2: a web search and an image are separate items', async t => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v2`, apiKey: 'unused', maxRetries: 0 })
  const search = { model, input: '[[builtin:web_search]]', tools: [{ type: 'web_search' as const }] }
  for (const response of [
    await client.responses.create(search),
    await client.responses.stream(search).finalResponse()
  ]) {
    t.strictSame(
      response.output.map(({ type }) => type),
      ['web_search_call', 'message']
    )
    t.match(response.output[0], { status: 'completed', action: { type: 'search' } })
  }
  const image = { model, input: '[[builtin:image_generate]]', tools: [{ type: 'image_generation' as const }] }
  for (const response of [await client.responses.create(image), await client.responses.stream(image).finalResponse()]) {
    const item = response.output.find(({ type }) => type === 'image_generation_call')
    t.match(item, { status: 'completed', result: /^[A-Za-z0-9+/]+=*$/ })
  }
})
