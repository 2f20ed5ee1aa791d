// JSON without a schema in every family that has such a mode: refused, or sent as the schema of any
// object (decisions.md 55).

import t from 'tap'
import { lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { askIn, type Family, readError, textIn } from '../system/support.ts'

const emulator = await startEmulator(t)
const strict = await startGateway(t, { env: emulatorVariables(emulator) })
const lenient = await startGateway(t, {
  env: { ...emulatorVariables(emulator), GATEWAY_JSON_OBJECT_MODE: 'any_object' }
})

const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
const requests = {
  completions: { prefixes: ['/v1', '/v2'], bare: { response_format: { type: 'json_object' } } },
  responses: { prefixes: ['/v1', '/v2'], bare: { text: { format: { type: 'json_object' } } } },
  content: {
    prefixes: ['/v1/v1beta', '/v2/v1beta'],
    bare: { generationConfig: { responseMimeType: 'application/json' } }
  }
}
const families = Object.keys(requests) as Array<keyof typeof requests & Family>
const fields = {
  completions: 'response_format.type',
  responses: 'text.format.type',
  content: 'generationConfig.responseMimeType'
}

function sentFormat(): unknown {
  const { body } = lastUpstreamChat(emulator)
  return body.response_format ?? body.model_options?.response_format
}

t.test('decisions.md 55: JSON without a schema is refused with the client’s field by default', async t => {
  const before = upstreamChats(emulator).length
  for (const family of families) {
    for (const prefix of requests[family].prefixes) {
      for (const stream of [false, true]) {
        const response = await askIn(strict, family, 'hi', { prefix, stream, more: requests[family].bare })
        t.equal(response.status, 400, family)
        t.ok(readError(family, response).message.includes(fields[family]), family)
      }
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test('decisions.md 55: with any_object it is sent as the schema of any object', async t => {
  for (const family of families) {
    for (const prefix of requests[family].prefixes) {
      const response = await askIn(lenient, family, 'hi', { prefix, more: requests[family].bare })
      t.equal(response.status, 200, family)
      t.strictSame(sentFormat(), { type: 'json_schema', schema: { type: 'object' } }, family)
      t.strictSame(JSON.parse(textIn(family, response)), {}, family)
    }
  }
})

t.test('decisions.md 55: a JSON object with a schema is structured output in every mode', async t => {
  const format = { type: 'json_object', schema }
  for (const gateway of [strict, lenient]) {
    for (const prefix of ['/v1', '/v2']) {
      for (const [family, more] of [
        ['completions', { response_format: format }],
        ['responses', { text: { format } }]
      ] as const) {
        const response = await askIn(gateway, family, 'hi', { prefix, more })
        t.equal(response.status, 200, family)
        t.strictSame(sentFormat(), { type: 'json_schema', schema }, family)
        t.match(JSON.parse(textIn(family, response)), { ok: Boolean }, family)
      }
    }
  }
})
