// The header that names what had no effect, on every form of a response (decisions.md 70).

import t from 'tap'
import { post } from '../../support/client.ts'
import { type Family, type FamilyName, families, type Loose, send } from './families.ts'
import { chat, content, messages, NATIVE_ALIAS, type Provider, providers, startBridge } from './providers/index.ts'

const { gateway } = await startBridge(t, { isDynamic: true })
const { url } = gateway

/** Header values are bytes. */
const MORE = Buffer.from('…').toString('latin1')
const EXACT = { 'x-gateway-unsupported': 'refuse' }

const noticeOf = ({ headers }: { headers: Headers }) => headers.get('x-gateway-ignored')

/** A member of each protocol that no other wire has, and its name. */
const ownMembers: Record<FamilyName, readonly [more: object, name: string]> = {
  completions: [{ service_tier: 'flex' }, 'service_tier'],
  responses: [{ service_tier: 'flex' }, 'service_tier'],
  messages: [{ service_tier: 'standard_only' }, 'service_tier'],
  content: [{ generationConfig: { routingConfig: { autoMode: {} } } }, 'generationConfig.routingConfig']
}

/** A limit above that of the alias. */
const limits: Record<FamilyName, readonly [more: object, name: string]> = {
  completions: [{ max_tokens: 1000 }, 'max_tokens'],
  responses: [{ max_output_tokens: 1000 }, 'max_output_tokens'],
  messages: [{ max_tokens: 1000 }, 'max_tokens'],
  content: [{ generationConfig: { maxOutputTokens: 1000 } }, 'generationConfig.maxOutputTokens']
}

const HOSTILE = `x_${'a'.repeat(63)}`
const foreign = { x_mine: 1, 'x blank': 1, 'x\r\nset-cookie: a=b': 1, [HOSTILE]: 1 }
const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`member_with_a_long_name_${index}`, 1]))

/** The forms of a response. */
function listForms(family: Family): Array<[form: string, ask: (model: string, more: object) => Promise<Loose>]> {
  const forms: ReturnType<typeof listForms> = [false, true].map(isStream => [
    isStream ? 'a stream of events' : 'a whole response',
    (model, more) => send(url, family, { model, prompt: 'Hi', isStream, more })
  ])
  if (family.name === 'content') {
    const body = (more: object) => ({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], ...more })
    forms.push([
      'an array of JSON',
      (model, more) => post(`${url}/v1beta/models/${model}:streamGenerateContent`, body(more))
    ])
  }
  return forms
}

for (const family of families) {
  for (const [form, ask] of listForms(family)) {
    for (const provider of providers) {
      const isOwnWire = provider.passes === family.name
      t.test(`${form} names what had no effect: ${family.name}, wire ${provider.name}`, async t => {
        const [more, name] = isOwnWire ? limits[family.name] : ownMembers[family.name]
        const model = isOwnWire ? provider.aliases.small : provider.aliases.keyed
        const response = await ask(model, more)
        t.equal(response.status, 200, response.text)
        t.equal(noticeOf(response), name)
        t.equal(noticeOf(await ask(provider.aliases.keyed, {})), null)
        // Its own service judges them.
        if (isOwnWire) return
        const foreignNames = await ask(model, foreign)
        t.equal(foreignNames.status, 200)
        t.equal(noticeOf(foreignNames), '?, x_mine', 'a name that may hold anything is not repeated')
        t.notOk(foreignNames.headers.has('set-cookie'))
        const bounded = noticeOf(await ask(model, many))
        t.ok(bounded?.endsWith(`, ${MORE}`), bounded ?? '')
        t.ok((bounded?.length ?? 0) <= 1024 + 2 + MORE.length)
      })
    }
  }
}

const prompt = { messages: [{ role: 'user', content: 'Hi' }] }
const contents = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }

const countFamilies: Array<{
  name: string
  own: Provider
  path: (model: string) => string
  body: (model: string) => object
  more: object
  names: string
}> = [
  {
    name: 'messages',
    own: messages,
    path: () => '/v1/messages/count_tokens',
    body: model => ({ model, ...prompt }),
    more: { thinking: { type: 'adaptive' }, x_mine: 1, speed: 'fast', 'x é': 1 },
    names: 'speed, thinking, ?, x_mine'
  },
  {
    name: 'content',
    own: content,
    path: model => `/v1beta/models/${model}:countTokens`,
    body: () => contents,
    more: { generation_config: { temperature: 1 }, x_mine: 1, 'x é': 1 },
    names: 'generation_config, ?, x_mine'
  }
]

for (const { name, own, path, body, more, names } of countFamilies) {
  t.test(`a token count names what had no effect: ${name} (decisions.md 70, 71)`, async t => {
    for (const model of [NATIVE_ALIAS, ...providers.map(({ aliases }) => aliases.keyed)]) {
      const isOwnWire = model === own.aliases.keyed
      const count = (extra: object, headers = {}) => post(url + path(model), { ...body(model), ...extra }, headers)
      // The service judges the members of its own wire.
      const response = await count(isOwnWire ? {} : more)
      t.equal(response.status, 200, response.text)
      t.equal(noticeOf(response), isOwnWire ? null : names, model)
      t.equal(noticeOf(await count({})), null)
      if (isOwnWire) continue
      const refused = await count(more, EXACT)
      t.equal(refused.status, 400, refused.text)
      t.match(refused.text, /(speed: |'generation_config' )is not supported by model/)
    }
  })
}

t.test('embeddings name what had no effect (decisions.md 70, 71)', async t => {
  const embed = (model: string, more: object, headers = {}) =>
    post(`${url}/v1/embeddings`, { model, input: 'Hi', ...more }, headers)
  const more = { dimensions: 8, user: 'u', x_mine: 1, [HOSTILE]: 1 }
  for (const [model, notice] of [
    ['Embeddings', 'dimensions, user, ?, x_mine'],
    [chat.aliases.keyed, 'user, ?, x_mine'],
    [content.aliases.keyed, 'user, ?, x_mine']
  ] as const) {
    const response = await embed(model, more)
    t.equal(response.status, 200, response.text)
    t.equal(noticeOf(response), notice, model)
    t.equal(noticeOf(await embed(model, { encoding_format: 'base64', user: null })), null)
    const refused = await embed(model, { user: 'u' }, EXACT)
    t.equal(refused.status, 400)
    t.match(refused.json.error, { code: 'unsupported_semantic', param: 'user' })
  }
})

t.test('embeddings of the content family name what a wire does not carry (decisions.md 70)', async t => {
  const request = { content: { parts: [{ text: 'Hi' }] }, task_type: 'CLUSTERING', title: 'T', outputDimensionality: 8 }
  const single = (model: string) =>
    post(`${url}/v1beta/models/${model}:embedContent`, { ...request, autoTruncate: true })
  const batch = (model: string, second = 8) =>
    post(`${url}/v1beta/models/${model}:batchEmbedContents`, {
      requests: [request, { ...request, outputDimensionality: second, x_mine: 1 }]
    })
  const lost = ['task_type', 'title'].flatMap(name => [0, 1].map(index => `requests[${index}].${name}`)).sort()
  const lengths = [0, 1].map(index => `requests[${index}].outputDimensionality`)
  for (const [model, ofSingle, ofBatch, ofLengths] of [
    ['Embeddings', ['outputDimensionality', 'task_type', 'title'], [...lengths, ...lost], [...lengths, ...lost]],
    [chat.aliases.keyed, ['task_type', 'title'], lost, [...lengths, ...lost]],
    [content.aliases.keyed, [], [], []]
  ] as const) {
    t.equal(noticeOf(await single(model)), ['autoTruncate', ...ofSingle].join(', '), model)
    t.equal(noticeOf(await batch(model)), [...ofBatch, 'requests[1].x_mine'].sort().join(', '), model)
    t.equal(noticeOf(await batch(model, 4)), [...ofLengths, 'requests[1].x_mine'].sort().join(', '), model)
  }
})
