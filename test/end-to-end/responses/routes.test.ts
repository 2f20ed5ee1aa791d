import OpenAI from 'openai'
import t from 'tap'
import { lastUpstreamChat, post } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { emulatorVariables, startGateway } from '../../support/in-process-gateway.ts'
import { assertRefusedUnsent } from '../../support/sdk-refusal.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { ask, createClient, model } from './support.ts'

const { emulator, gateway } = await startSharedGateway()
const configured = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_UPSTREAM_API_MODE: 'v2', UPSTREAM_MODEL: 'GigaChat-2-Pro' }
})

t.test('responses 1: a text is sent to the v1 path as one user message and the response is output text', async t => {
  const httpResponse = await ask(gateway, 'v1', 'x')
  t.equal(httpResponse.status, 200)
  t.match(httpResponse.json, { object: 'response', status: 'completed', model, error: null })
  t.equal(httpResponse.json.id, `resp_${httpResponse.headers.get('x-request-id')}`)
  const upstream = lastUpstreamChat(emulator)
  t.equal(upstream.path, '/api/v1/chat/completions')
  t.strictSame(upstream.body, { model, messages: [{ role: 'user', content: 'x' }] })
  const response = await createClient(gateway, 'v1').responses.create({ model, input: '[[text:Hello]]' })
  t.equal(response.output_text, 'Hello')
})

t.test('responses 2: a text is sent to the v2 path as one part, without a storage member', async t => {
  t.equal((await ask(gateway, 'v2', 'x')).status, 200)
  const upstream = lastUpstreamChat(emulator)
  t.equal(upstream.path, '/api/v2/chat/completions')
  t.strictSame(upstream.body, { model, messages: [{ role: 'user', content: [{ text: 'x' }] }] })
})

t.test('responses 3: an unprefixed route follows the configured API mode', async t => {
  t.equal((await post(`${configured.url}/responses`, { model, input: 'x' })).status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v2/chat/completions')
  t.equal((await post(`${gateway.url}/responses`, { model, input: 'x' })).status, 200)
  t.equal(lastUpstreamChat(emulator).path, '/api/v1/chat/completions')
})

t.test('responses 9: the configured model is used and named in the response', async t => {
  for (const version of ['v1', 'v2'] as const) {
    for (const absent of [undefined, null, ' ']) {
      const httpResponse = await ask(configured, version, 'x', { model: absent })
      t.equal(httpResponse.status, 200)
      t.equal(lastUpstreamChat(emulator).body.model, 'GigaChat-2-Pro')
      t.equal(httpResponse.json.model, 'GigaChat-2-Pro')
    }
  }
})

t.test('responses 10: without any model the request is refused before the upstream is called', async t => {
  for (const version of ['v1', 'v2']) {
    const refused = { url: `${gateway.url}/${version}/responses`, body: { input: 'x' } }
    await assertRefusedUnsent(t, emulator, refused, { status: 400, code: 'model_required', param: 'model' })
  }
})

// `responses.compact` was among them before decisions.md 91: `compaction.test.ts`.
t.test('responses 75: without a store no route retrieves a response, and there are no conversations', async t => {
  const client = createClient(gateway, 'v1')
  for (const call of [
    () => client.responses.retrieve('resp_1'),
    () => client.responses.retrieve('resp_1', { stream: true }),
    () => client.responses.delete('resp_1'),
    () => client.responses.cancel('resp_1'),
    () => client.responses.inputItems.list('resp_1'),
    () => client.conversations.create({})
  ]) {
    const error = await catchError(call)
    t.ok(error instanceof OpenAI.NotFoundError)
    t.match(error, { status: 404, code: 'unknown_url' })
  }
})
