// The official `@google/genai` package with a started gateway, as an application uses it.

import t from 'tap'
import { post } from '../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../support/in-process-gateway.ts'
import { testGoogleGenai } from './official-sdks/google-genai.ts'
import { nativePlace } from './official-sdks/place.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, {
  env: { ...emulatorVariables(emulator), UPSTREAM_TIMEOUT: '5' }
})

const model = 'GigaChat-2-Max'

for (const version of ['v1', 'v2'] as const) testGoogleGenai(nativePlace(gateway, emulator, version))

t.test('alt=json streams one JSON array (G1)', async t => {
  const url = `${gateway.url}/v1beta/models/${model}:streamGenerateContent`
  const body = { contents: [{ role: 'user', parts: [{ text: '[[chunks:Hel|lo]]' }] }] }
  const response = await post(`${url}?alt=json`, body)
  t.match(response.headers.get('content-type'), /^application\/json/)
  const chunks = response.json as Array<{ candidates: Array<{ content: { parts: Array<{ text?: string }> } }> }>
  t.equal(
    chunks
      .flatMap(chunk => chunk.candidates[0]?.content.parts ?? [])
      .map(part => part.text ?? '')
      .join(''),
    'Hello'
  )
  t.match((await post(`${url}?alt=sse`, body)).headers.get('content-type'), /^text\/event-stream/)
})
