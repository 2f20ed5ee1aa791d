// Where a model of a client leads with a profile file, and that a refused one leads nowhere
// (bridge.md 7.2 and 7.3).

import t, { type Test } from 'tap'
import { get, type HttpResponse, post } from '../../support/client.ts'
import { makeAlias } from '../../support/profiles.ts'
import { assertSdkError } from '../../support/sdk-refusal.ts'
import { askIn, type Family, families, readError, textIn } from '../system/support.ts'
import { externalProfile, familyOfOperation, nativeProfile, operations, startAdmission } from './admission-support.ts'

const maxAlias = makeAlias('max', { upstreamModel: 'GigaChat-2-Max', features: null })
const embedAlias = makeAlias('embed', { upstreamModel: 'Embeddings', features: null })

function assertUnknown(t: Test, family: Family, response: HttpResponse): void {
  const { kind, message, code } = readError(family, response)
  t.equal(response.status, 404, family)
  t.equal(code, 'unknown_model_alias', family)
  const kinds = { messages: 'not_found_error', content: 'NOT_FOUND' }
  t.equal(kind, family in kinds ? kinds[family as keyof typeof kinds] : 'invalid_request_error', family)
  t.match(message, 'The requested public model alias is not available.')
  if (family === 'completions' || family === 'responses') t.equal(response.json.error.param, 'model')
  // The SDK reads its `errorCode` there.
  if (family === 'messages') t.strictSame(response.json.error.details, { error_code: code })
}

function assertRefused(t: Test, family: Family, response: HttpResponse, param = 'model'): void {
  const { message } = readError(family, response)
  t.equal(response.status, 400, family)
  t.match(message, /is not supported by model '[\w/]+'\./, family)
  t.match(response.text, /"unsupported_semantic"/, family)
  if (family === 'completions' || family === 'responses') t.equal(response.json.error.param, param)
  if (family === 'messages') t.match(message, param)
  if (family === 'content') t.match(response.text, new RegExp(`"field":"${param}"`))
}

t.test(
  'bridge 66; responses 78: an alias is exact, a disabled one is unknown, and a missing or odd model is invalid',
  async t => {
    const gateway = await startAdmission(t, ({ external }) => [
      externalProfile(external, [makeAlias('bridge/a'), makeAlias('bridge/off', { enabled: false })])
    ])
    for (const model of ['Bridge/a', 'bridge/off', ' bridge/a']) {
      assertUnknown(t, 'responses', await askIn(gateway, 'responses', 'hi', { model }))
    }
    for (const body of [{ input: 'hi' }, { model: 5, input: 'hi' }, { model: null, input: 'hi' }]) {
      const response = await post(`${gateway.url}/v1/responses`, body)
      t.equal(response.status, 400)
      t.match(response.json.error, { code: 'invalid_request', param: 'model', type: 'invalid_request_error' })
    }
    t.equal(gateway.calls(), 0)
  }
)

t.test('bridge 67; messages 73; content 79: an unknown alias is 404 in the form of every family', async t => {
  const gateway = await startAdmission(t, ({ external }) => [
    externalProfile(external, [makeAlias('bridge/a'), makeAlias('bridge/off', { enabled: false })])
  ])
  for (const model of ['bridge/A', 'bridge/off', 'GigaChat-2']) {
    for (const family of families) {
      for (const stream of [false, true])
        assertUnknown(t, family, await askIn(gateway, family, 'hi', { model, stream }))
    }
    for (const [name, run] of Object.entries(operations)) {
      assertUnknown(t, familyOfOperation(name), await run(gateway, model))
    }
  }
  t.equal(gateway.calls(), 0)
})

/** A member of the wrong type in the body of each family. */
const wrongMembers = {
  completions: { messages: 5 },
  responses: { input: 5 },
  messages: { messages: 5 },
  content: { contents: 5 }
}

t.test('a model that leads nowhere is reported before a wrong field, and a blocked one behind it', async t => {
  const gateway = await startAdmission(t, ({ external }) => [
    externalProfile(external, [
      makeAlias('bridge/a'),
      makeAlias('bridge/off', { enabled: false }),
      makeAlias('bridge/blocked', { supportStatus: 'blocked' })
    ])
  ])
  for (const model of ['bridge/A', 'bridge/off']) {
    for (const family of families) {
      assertUnknown(t, family, await askIn(gateway, family, 'hi', { model, more: wrongMembers[family] }))
    }
    assertUnknown(t, 'completions', await post(`${gateway.url}/v1/embeddings`, { model, input: {} }))
    const counted = await post(`${gateway.url}/v1/messages/count_tokens`, { model, messages: 5 })
    assertUnknown(t, 'messages', counted)
  }
  for (const body of [{ input: 5 }, { input: 5, model: 5 }]) {
    const { status, json } = await post(`${gateway.url}/v1/responses`, body)
    t.match({ status, error: json.error }, { status: 400, error: { code: 'invalid_request', param: 'model' } })
  }
  for (const family of families) {
    const [field = ''] = Object.keys(wrongMembers[family])
    const refused = await askIn(gateway, family, 'hi', { model: 'bridge/blocked', more: wrongMembers[family] })
    t.equal(refused.status, 400, family)
    t.match(refused.text, field, family)
    t.notMatch(refused.text, 'unsupported_semantic', family)
  }
  t.equal(gateway.calls(), 0)
})

t.test('completions 74: a removed alias is unknown for chats and for embeddings', async t => {
  const before = await startAdmission(t, ({ external }) => [
    externalProfile(external, [makeAlias('team/a'), makeAlias('team/old')])
  ])
  const after = await startAdmission(t, ({ external }) => [externalProfile(external, [makeAlias('team/a')])])
  t.equal((await askIn(before, 'completions', 'hi', { model: 'team/old' })).status, 200)
  assertUnknown(t, 'completions', await askIn(after, 'completions', 'hi', { model: 'team/old' }))
  assertUnknown(t, 'completions', await post(`${after.url}/v1/embeddings`, { model: 'team/old', input: 'hi' }))
  for (const [path, more] of [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
    ['/v2/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
    ['/v1/embeddings', { input: 'hi' }]
  ] as const) {
    const refused = { url: after.url + path, body: { model: 'team/old', ...more } }
    await assertSdkError(t, refused, { status: 404, code: 'unknown_model_alias', param: 'model' })
  }
  t.equal(after.calls(), 0)
})

// No cell of this build is blocked; the unit test of admission refuses one.
t.test('bridge 68: blocked aliases are refused by every operation', async t => {
  const gateway = await startAdmission(t, ({ external, native }) => [
    externalProfile(external, [makeAlias('bridge/blocked', { supportStatus: 'blocked' })]),
    nativeProfile(native, [{ ...maxAlias, supportStatus: 'blocked' }])
  ])
  for (const model of ['bridge/blocked', 'max']) {
    for (const family of families) {
      for (const stream of [false, true])
        assertRefused(t, family, await askIn(gateway, family, 'hi', { model, stream }))
    }
    for (const [name, run] of Object.entries(operations)) {
      assertRefused(t, familyOfOperation(name), await run(gateway, model))
    }
  }
  t.equal(gateway.calls(), 0)
})

t.test(
  'bridge 69: chats and embeddings of an external alias execute there, and never at the native upstream',
  async t => {
    const gateway = await startAdmission(t, ({ external, native }) => [
      externalProfile(external, [makeAlias('bridge/a')]),
      nativeProfile(native, [], { modelInventory: 'dynamic' })
    ])
    const { provider, emulator } = gateway
    const chat = await askIn(gateway, 'completions', 'hi', { model: 'bridge/a' })
    t.equal(chat.json.model, 'bridge/a')
    t.equal(textIn('completions', chat), 'Hello.')
    t.match(gateway.lastBody(), { model: 'mini-7b' })
    const embedded = await post(`${gateway.url}/v1/embeddings`, { model: 'bridge/a', input: ['a', 'b'] })
    t.match(embedded.json, { model: 'bridge/a', data: [{ index: 0 }, { index: 1 }] })
    t.same(
      provider.requests.map(({ url }) => url),
      ['/v1/chat/completions', '/v1/embeddings']
    )
    t.same(emulator.requests, [])
  }
)

t.test("bridge 70: a native alias sends its upstream model to the profile's host, with either prefix", async t => {
  const gateway = await startAdmission(t, ({ native }) => [
    nativeProfile(native, [maxAlias]),
    nativeProfile(native, [embedAlias], { profileId: 'other' })
  ])
  // From now on the gateway knows the models of the credential.
  t.equal((await get(`${gateway.url}/v1/models`)).status, 200)
  for (const prefix of ['/v1', '/v2']) {
    const response = await askIn(gateway, 'completions', 'hi', { model: 'max', prefix })
    t.equal(response.status, 200)
    t.equal(response.json.model, 'max')
  }
  const chats = gateway.emulator.requests.filter(({ path }) => path.endsWith('/chat/completions'))
  t.same(
    chats.map(({ body }) => (body as { model: string }).model),
    ['GigaChat-2-Max', 'GigaChat-2-Max']
  )
  for (const family of families) {
    t.equal((await askIn(gateway, family, 'hi', { model: 'max' })).status, 200, family)
    // The aliases are names beside the models of the credential (specification.md 2.3).
    t.equal((await askIn(gateway, family, 'hi', { model: 'GigaChat-2-Pro' })).status, 200, family)
    assertUnknown(t, family, await askIn(gateway, family, 'hi', { model: 'NoSuchModel' }))
  }
  const embedded = await operations.embeddings?.(gateway, 'embed')
  t.match(embedded?.json, { model: 'embed' })
})

t.test('bridge 71: a disabled alias beside a dynamic inventory is unknown in every family', async t => {
  const gateway = await startAdmission(t, ({ external, native }) => [
    externalProfile(external, [makeAlias('GigaChat-2', { enabled: false })]),
    nativeProfile(native, [{ ...maxAlias, enabled: false }], { modelInventory: 'dynamic' })
  ])
  for (const model of ['GigaChat-2', 'max']) {
    for (const family of families) assertUnknown(t, family, await askIn(gateway, family, 'hi', { model }))
    for (const [name, run] of Object.entries(operations)) {
      assertUnknown(t, familyOfOperation(name), await run(gateway, model))
    }
  }
  t.equal(gateway.calls(), 0)
})

t.test(
  'a dynamic profile of a file gets other models, except those that its fresh inventory does not have',
  async t => {
    const gateway = await startAdmission(t, ({ native }) => [
      nativeProfile(native, [maxAlias], { modelInventory: 'dynamic' })
    ])
    t.equal((await askIn(gateway, 'completions', 'hi', { model: 'GigaChat-2' })).status, 200, 'before any discovery')
    t.equal((await get(`${gateway.url}/v1/models`)).status, 200)
    const before = gateway.calls()
    for (const family of families)
      assertUnknown(t, family, await askIn(gateway, family, 'hi', { model: 'no-such-model' }))
    assertUnknown(t, 'completions', await post(`${gateway.url}/v1/embeddings`, { model: 'no-such-model', input: 'hi' }))
    t.equal(gateway.calls(), before)
    for (const family of families) t.equal((await askIn(gateway, family, 'hi', { model: 'GigaChat-2' })).status, 200)
    t.equal((await askIn(gateway, 'completions', 'hi', { model: 'max' })).status, 200)
  }
)

t.test('without a model the settings name that of a dynamic profile', async t => {
  const profiles = ({ native }: { native: string }) => [
    nativeProfile(native, [maxAlias], { modelInventory: 'dynamic' as const })
  ]
  const nameless = await startAdmission(t, profiles)
  const body = { messages: [{ role: 'user', content: 'hi' }] }
  const refused = await post(`${nameless.url}/v1/chat/completions`, body)
  t.match(refused.json, { error: { code: 'model_required', param: 'model' } })
  t.equal(nameless.calls(), 0)
  const named = await startAdmission(t, profiles, { env: { UPSTREAM_MODEL: 'GigaChat-2' } })
  t.match((await post(`${named.url}/v1/chat/completions`, body)).json, { model: 'GigaChat-2' })
  const fixed = await startAdmission(t, profiles, {
    env: { UPSTREAM_MODEL: 'GigaChat-2', GATEWAY_PASS_MODEL: 'false' }
  })
  t.equal((await askIn(fixed, 'completions', 'hi', { model: 'other' })).json.model, 'other')
  t.match(fixed.emulator.requests.at(-1)?.body, { model: 'GigaChat-2' })
})

t.test('a file of an older schema serves its native aliases and refuses its external ones', async t => {
  for (const schemaVersion of ['gateway.provider-profiles.v1', 'gateway.provider-profiles.v2'] as const) {
    const gateway = await startAdmission(
      t,
      ({ external, native }) => [
        externalProfile(external, [makeAlias('bridge/a', { features: null })]),
        nativeProfile(native, [maxAlias])
      ],
      { schemaVersion }
    )
    for (const family of families) assertRefused(t, family, await askIn(gateway, family, 'hi', { model: 'bridge/a' }))
    for (const [name, run] of Object.entries(operations)) {
      assertRefused(t, familyOfOperation(name), await run(gateway, 'bridge/a'))
    }
    t.equal(gateway.calls(), 0)
    t.equal((await askIn(gateway, 'completions', 'hi', { model: 'max' })).status, 200)
  }
})
