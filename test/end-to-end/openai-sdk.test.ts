// The official `openai` package with a started gateway, as an application uses it.

import OpenAI from 'openai'
import t from 'tap'
import { lastUpstreamChat } from '../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../support/in-process-gateway.ts'
import { testOpenAi } from './official-sdks/openai.ts'
import { nativePlace } from './official-sdks/place.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), UPSTREAM_TIMEOUT: '5' }
})

for (const version of ['v1', 'v2'] as const) testOpenAi(nativePlace(gateway, emulator, version))

t.test('extra_body expanded by the SDK reaches the upstream', async t => {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'unused' })
  const body = { model: 'GigaChat-2', messages: [{ role: 'user' as const, content: 'hi' }], repetition_penalty: 1.1 }
  await client.chat.completions.create(body)
  t.equal(lastUpstreamChat(emulator).body.repetition_penalty, 1.1)
})
