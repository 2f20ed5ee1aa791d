import t from 'tap'
import { asBuffer, joinBytes } from '../../../shared/bytes.ts'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { translateChat } from '../../../worker/translation/chat.ts'
import { createPlainChats } from '../../../worker/translation/plain-chats.ts'
import type { ChatJob, TaskEnvironment } from '../../../worker/translation/types.ts'
import { options } from '../protocols/completions/provider/support.ts'

const capabilities = { features: FEATURE_NAMES, outputTokensMax: 1000, contextWindow: 1_000_000 }
const aliases = new Map(
  ['alias', 'other'].map(name => {
    const upstreamModel = `exact-${name}`
    const route = { profileId: 'p', providerKind: 'chat_compatible', upstreamModel, slotKey: upstreamModel }
    return [name, { ...route, capabilities }]
  })
)
const environment: TaskEnvironment = {
  settings: { routes: { aliases }, providerOptions: { p: options } },
  faces: providerFaces,
  decodeTokens: async () => [],
  estimateTokens: async () => 0
}

function createJob(text: string, requestId = 'r'): ChatJob {
  return { protocol: 'completions', apiMode: 'v1', bytes: Buffer.from(text), context: { requestId } }
}

const write = (body: ReturnType<ReturnType<typeof createPlainChats>['translate']>) =>
  body === undefined ? undefined : asBuffer(joinBytes(body.body)).toString()

t.test('bodies that differ in their messages share what stands around them, and nothing else', async t => {
  const plain = createPlainChats(environment)
  const texts = [
    '{"model":"alias","messages":[{"role":"user","content":"one"}],"temperature":0.50,"user":"ä"}',
    '{"model":"alias","messages":[{"role":"user","content":"\\u0074wo"},{"role":"assistant","content":"b"}],"temperature":0.50,"user":"ä"}',
    '{"model":"other","messages":[{"role":"user","content":"one"}],"temperature":0.50,"user":"ä"}',
    '{"model":"alias","x":[{"role":"user","content":"one"}],"messages":[{"role":"user","content":"one"}],"n":2,"big":12345678901234567890}',
    '{ "messages": [{"role":"user","content":"[{\\"role\\":\\"user\\"}]"}], "user": "[{\\"role\\":\\"user\\",\\"content\\":\\"text\\"}]", "model": "alias"}'
  ]
  for (const round of [1, 2]) {
    for (const [index, text] of texts.entries()) {
      const job = createJob(text, `${round} ${index}`)
      const call = plain.translate(job)
      t.equal(write(call), text.replace(/"model"(: ?)"/, '"model"$1"exact-'))
      const { body: _sent, ...short } = call ?? {}
      const { body: _written, ...general } = translateChat(job, environment)
      t.same(short, { ...general, request: { ...general.request, messages: [] } })
    }
  }
})

t.test('an input of messages takes the short way to a Responses wire', async t => {
  const [name, route] = ['of-responses', aliases.get('alias')] as const
  const responses = new Map([[name, { ...route, wire: 'responses' } as NonNullable<typeof route>]])
  const settings = { routes: { aliases: responses }, providerOptions: { p: { responsesPath: '/v1/responses' } } }
  const wireEnvironment = { ...environment, settings }
  const plain = createPlainChats(wireEnvironment)
  const text = `{"input":[{"role":"developer","content":"a"},{"role":"user","content":"\\u0062"}],"model":"${name}","store":false}`
  const job = { ...createJob(text), protocol: 'responses' } as const
  for (const _round of [1, 2]) {
    const call = plain.translate(job)
    t.equal(write(call), text.replace(name, 'exact-alias'))
    const { body: _sent, ...short } = call ?? {}
    const { body: _written, ...general } = translateChat(job, wireEnvironment)
    t.same(short, { ...general, request: { ...general.request, messages: [] } })
  }
  const items = text.replace('"role":"user"', '"type":"message","role":"user"')
  t.equal(plain.translate({ ...job, bytes: Buffer.from(items) }), undefined)
})

t.test('what is refused, and what takes the general way, is so each time', async t => {
  const plain = createPlainChats(environment)
  const messages = '"messages":[{"role":"user","content":"a"}]'
  for (const _round of [1, 2]) {
    t.throws(() => plain.translate(createJob(`{"model":"alias",${messages},"extra_body":1}`)), {
      code: 'unsupported_parameter'
    })
    for (const members of [
      '"model":"unknown"',
      '"model":7',
      '"user":"u"',
      '"model":"alias","model":"other"',
      '"model":"alias","metadata":{"a":1,"a":2}',
      '"mod\\u0065l":"alias"'
    ]) {
      t.equal(plain.translate(createJob(`{${members},${messages}}`)), undefined, members)
    }
  }
})

t.test('a large body is sent in pieces of its own memory', async t => {
  const plain = createPlainChats(environment)
  for (const [length, isInPieces] of [
    [1000, false],
    [300_000, true]
  ] as const) {
    const text = `{"model":"alias","messages":[{"role":"user","content":"${'x'.repeat(length)}"}]}`
    const job = createJob(text)
    const call = plain.translate(job)
    t.equal(write(call), text.replace('alias', 'exact-alias'))
    const { body = [] } = call ?? {}
    t.equal(Array.isArray(body) && body[1]?.buffer === job.bytes.buffer, isInPieces)
  }
})

t.test('what is remembered keeps no memory of other bodies', async t => {
  const plain = createPlainChats(environment)
  const text = `{"model":"alias","messages":[{"role":"user","content":"${'x'.repeat(300_000)}"}],"user":"u"}`
  const { body } = plain.translate(createJob(text)) ?? {}
  const [before, , after] = Array.isArray(body) ? body : []
  t.equal(before?.buffer.byteLength, '{"model":"exact-alias","messages":'.length)
  t.equal(after?.buffer.byteLength, ',"user":"u"}'.length)
})

t.test('changes around the messages are made in the bytes', async t => {
  const plain = createPlainChats(environment)
  const sent = (text: string) => write(plain.translate(createJob(text)))
  const list = '[{"role":"user","content":"\\u0061"}]'
  t.equal(
    sent(`{"api_key":"x","messages":${list},"max_tokens":1001,"stream":true,"model":"alias"}`),
    `{"messages":${list},"max_tokens":1000,"stream":true,"model":"exact-alias","stream_options":{"include_usage":true}}`
  )
})

t.test('memory 3: a turn of the memory takes the general way', async t => {
  const plain = createPlainChats(environment)
  const job = createJob('{"model":"alias","messages":[{"role":"user","content":"a"}]}')
  t.ok(plain.mayTranslate(job))
  const turn = { id: 'resp_1', isStored: true }
  t.notOk(plain.mayTranslate({ ...job, context: { ...job.context, turn } }))
})
