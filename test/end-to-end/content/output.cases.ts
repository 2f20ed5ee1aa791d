import t from 'tap'
import { lastUpstreamChat, upstreamChats } from '../../support/client.ts'
import { listNullMembers } from '../../support/null-members.ts'
import { startSharedGateway } from '../../support/shared-gateway.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { callsOf, emulatorOptions, generate, partsOf, stream, textOf, type Version, versions } from './support.ts'

const { emulator, gateway } = await startSharedGateway(emulatorOptions)

const json = (more: object) => ({ generationConfig: { responseMimeType: 'application/json', ...more } })
const responseSchema = {
  type: 'OBJECT',
  properties: { ok: { type: 'BOOLEAN' }, note: { type: 'STRING', nullable: true } },
  required: ['ok', 'note'],
  propertyOrdering: ['note', 'ok']
}
const converted = {
  type: 'object',
  properties: { note: { type: ['string', 'null'] }, ok: { type: 'boolean' } },
  required: ['ok', 'note']
}

function sent() {
  return lastUpstreamChat(emulator).body
}

function sentFormat(version: Version) {
  return version === 'v1' ? sent().response_format : sent().model_options.response_format
}

t.test('decisions.md 40: no member of a response or a chunk is null', async t => {
  const tools = [{ functionDeclarations: [{ name: 'A' }] }]
  for (const version of versions) {
    for (const prompt of ['[[text:Hi]]', '[[reason:why]]', '[[tool:A {}]]', '[[nousage]]', '[[finish:blacklist]]']) {
      const whole = await generate(gateway, version, prompt, { tools })
      t.equal(whole.status, 200)
      t.strictSame(listNullMembers(whole.json), [], prompt)
      const { chunks } = await stream(gateway, version, prompt, { tools })
      t.strictSame(listNullMembers(...chunks), [], prompt)
    }
  }
})

t.test('content 51: a response schema becomes the upstream’s response format, converted', async t => {
  for (const version of versions) {
    const response = await generate(gateway, version, 'hi', json({ responseSchema }))
    t.strictSame(sentFormat(version), { type: 'json_schema', schema: converted })
    t.notOk('functions' in sent() || 'function_call' in sent() || 'tools' in sent() || 'tool_config' in sent())
    t.match(JSON.parse(textOf(response.json)), { ok: Boolean })
    t.strictSame(callsOf(response.json), [])
    t.equal(partsOf(response.json).length, 1)
    t.equal(response.json.candidates[0].finishReason, 'STOP')
  }
})

t.test('content 52: a JSON response schema is sent upstream unchanged', async t => {
  const responseJsonSchema = {
    type: 'object',
    properties: { node: { $ref: '#/$defs/N' }, either: { anyOf: [{ type: 'integer' }, { type: 'null' }] }, any: true },
    required: ['node'],
    additionalProperties: false,
    $defs: { N: { type: ['string', 'null'], description: 'nullable stays a word here' } }
  }
  for (const version of versions) {
    const response = await generate(gateway, version, 'hi', json({ responseJsonSchema }))
    t.equal(response.status, 200)
    t.strictSame(sentFormat(version), { type: 'json_schema', schema: responseJsonSchema })
    t.type(JSON.parse(textOf(response.json)), 'object')
  }
})

t.test('content 53, 54: a media type without a schema, and a schema without the media type, are refused', async t => {
  const before = upstreamChats(emulator).length
  const cases: Array<[object, string]> = [
    [{ responseMimeType: 'application/json' }, 'generationConfig.responseMimeType'],
    [{ responseSchema }, 'generationConfig.responseSchema'],
    [{ responseJsonSchema: {} }, 'generationConfig.responseJsonSchema'],
    [{ responseMimeType: 'text/plain', responseSchema }, 'generationConfig.responseSchema'],
    [
      { responseMimeType: 'application/json', responseSchema, responseJsonSchema: {} },
      'generationConfig.responseJsonSchema'
    ],
    [{ responseMimeType: 'text/xml' }, 'generationConfig.responseMimeType']
  ]
  for (const [generationConfig, field] of cases) {
    for (const version of versions) {
      const response = await generate(gateway, version, 'hi', { generationConfig })
      t.equal(response.status, 400, field)
      t.match(response.json.error, {
        status: 'INVALID_ARGUMENT',
        details: [{ fieldViolations: [{ field }] }]
      })
    }
  }
  t.equal(upstreamChats(emulator).length, before)
})

t.test(
  'content 55: an array schema is forwarded as an array schema, and a function beside a schema is not forced',
  async t => {
    const list = { type: 'ARRAY', items: { type: 'STRING' } }
    const tools = [{ functionDeclarations: [{ name: 'A', parametersJsonSchema: { type: 'object' } }] }]
    for (const version of versions) {
      const response = await generate(gateway, version, 'hi', json({ responseSchema: list }))
      t.strictSame(sentFormat(version).schema, { type: 'array', items: { type: 'string' } })
      t.ok(Array.isArray(JSON.parse(textOf(response.json))))
      const both = { ...json({ responseSchema: list }), tools }
      t.ok(textOf((await generate(gateway, version, 'hi', both)).json))
      t.equal(listSentFunctions(sent())[0]?.name, 'A')
      t.notOk('function_call' in sent() || 'tool_config' in sent())
      const called = await generate(gateway, version, '[[tool:A {"a":1}]]', both)
      t.match(callsOf(called.json), [{ name: 'A', args: { a: 1 } }])
    }
  }
)

t.test('content 63: a structured stream contains only the JSON text', async t => {
  for (const version of versions) {
    const { chunks } = await stream(gateway, version, 'hi', json({ responseSchema }))
    t.equal(sent().stream, true)
    t.strictSame(sentFormat(version), { type: 'json_schema', schema: converted })
    t.notOk('functions' in sent() || 'function_call' in sent() || 'tools' in sent() || 'tool_config' in sent())
    t.match(JSON.parse(textOf(...chunks)), { ok: Boolean })
    t.equal(chunks.at(-1).candidates[0].finishReason, 'STOP')
    t.strictSame(callsOf(...chunks), [])
    for (const part of chunks.flatMap(partsOf)) t.strictSame(Object.keys(part), ['text'])
  }
})

t.test('an enum value is returned as plain text, streamed and whole', async t => {
  const generationConfig = {
    responseMimeType: 'text/x.enum',
    responseSchema: { type: 'STRING', enum: ['red', 'blue'] }
  }
  for (const version of versions) {
    t.equal(textOf((await generate(gateway, version, 'hi', { generationConfig })).json), 'red')
    t.equal(textOf(...(await stream(gateway, version, 'hi', { generationConfig })).chunks), 'red')
    const cut = { generationConfig: { ...generationConfig, stopSequences: ['d'] } }
    t.equal(textOf((await generate(gateway, version, 'hi', cut)).json), 're', 'without the opening quote of its JSON')
    t.equal(textOf(...(await stream(gateway, version, 'hi', cut)).chunks), 're')
  }
})
