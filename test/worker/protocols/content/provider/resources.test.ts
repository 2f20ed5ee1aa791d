// Token counts, embeddings and the model list on the wire of the provider.

import t from 'tap'
import { GatewayError, type JsonObject } from '../../../../../worker/normalized/index.ts'
import { batchEmbedContentsFace, embedContentFace } from '../../../../../worker/protocols/content/client/embeddings.ts'
import { contentCompatibleTokenCount } from '../../../../../worker/protocols/content/provider/count-tokens.ts'
import { contentCompatibleEmbeddings } from '../../../../../worker/protocols/content/provider/embeddings.ts'
import { contentCompatibleModelList } from '../../../../../worker/protocols/content/provider/models.ts'
import { options } from './support.ts'

function causeOf(read: () => unknown): unknown {
  try {
    return read()
  } catch (thrown) {
    if (GatewayError.is(thrown)) return thrown.cause
    throw thrown
  }
}

t.test('bridge 81: one call counts all texts', async t => {
  const { write, read } = contentCompatibleTokenCount
  const call = write({ model: 'models/m', input: ['a', 'b'] }, options)
  t.equal(call.path, '/v1beta/models/m:countTokens')
  t.strictSame(call.body, { contents: [{ role: 'user', parts: [{ text: 'a' }, { text: 'b' }] }] })
  t.strictSame(read({ totalTokens: 7 }, { count: 2 }), [7, 0])
  t.strictSame(read({}, { count: 1 }), [0])
  for (const body of [null, [], { totalTokens: -1 }, { totalTokens: '7' }]) {
    t.equal(
      causeOf(() => read(body, { count: 1 })),
      'invalid_token_counts'
    )
  }
  t.match(
    causeOf(() => read({ error: { code: 429 } }, { count: 1 })),
    /429/
  )
})

t.test('every text is one request of a batch', async t => {
  const { write, read } = contentCompatibleEmbeddings
  const call = write({ model: 'embedder', input: ['a', 'b'], dimensions: 3 }, options)
  t.equal(call.path, '/v1beta/models/embedder:batchEmbedContents')
  t.strictSame(call.body, {
    requests: ['a', 'b'].map(text => ({
      model: 'models/embedder',
      content: { parts: [{ text }] },
      outputDimensionality: 3
    }))
  })
  const body = { embeddings: [{ values: [1, 0.5] }, { values: [-1, 2] }], usageMetadata: { promptTokenCount: 4 } }
  t.strictSame(read(body, { count: 2, head: { status: 200, headers: {} } }), {
    vectors: [
      [1, 0.5],
      [-1, 2]
    ],
    promptTokens: 4,
    metadata: {}
  })
  const context = { count: 1, head: { status: 200, headers: {} } }
  t.equal(read({ embeddings: [{ values: [1] }] }, context).promptTokens, null)
  for (const odd of [null, {}, { embeddings: [] }, { embeddings: [{ values: ['1'] }] }, { embeddings: [[1]] }, body]) {
    t.equal(
      causeOf(() => read(odd, context)),
      'invalid_embeddings',
      JSON.stringify(odd)
    )
  }
  t.match(
    causeOf(() => read({ error: { code: 503 } }, context)),
    /503/
  )
})

t.test('each text keeps the length of its vector (decisions.md 83)', async t => {
  const lengthsOf = (...lengths: Array<number | undefined>) => {
    const requests = lengths.map(outputDimensionality => ({
      content: 'a',
      ...(outputDimensionality && { outputDimensionality })
    }))
    const read = batchEmbedContentsFace.read({ requests }, { requestId: 'r', path: { model: 'm', isStream: false } })
    const { dimensions, purposes } = read
    const call = {
      model: 'm',
      input: lengths.map(() => 'a'),
      ...(dimensions && { dimensions }),
      ...(purposes && { purposes })
    }
    const { requests: sent } = contentCompatibleEmbeddings.write(call, options).body as { requests: JsonObject[] }
    return sent.map(request => request.outputDimensionality)
  }
  t.strictSame(lengthsOf(64, 128), [64, 128])
  t.strictSame(lengthsOf(64, undefined, 128), [64, undefined, 128])
  t.strictSame(lengthsOf(64, 64), [64, 64])
  t.strictSame(lengthsOf(undefined), [undefined])
})

t.test('what a client says of a text reaches the provider', async t => {
  const context = { requestId: 'r', path: { model: 'm', isStream: false } }
  const requestsOf = (face: typeof embedContentFace, body: JsonObject) => {
    const { input, purposes } = face.read(body, context)
    if (input.type !== 'texts') throw new Error('no texts')
    const call = { model: 'm', input: input.texts, ...(purposes === undefined ? {} : { purposes }) }
    return contentCompatibleEmbeddings.write(call, options).body.requests
  }
  const content = (text: string) => ({ parts: [{ text }] })
  t.strictSame(requestsOf(embedContentFace, { content: content('a'), task_type: 'RETRIEVAL_DOCUMENT', title: 'T' }), [
    { model: 'models/m', content: content('a'), taskType: 'RETRIEVAL_DOCUMENT', title: 'T' }
  ])
  const batch = { requests: [{ content: content('a') }, { content: content('b'), taskType: 'CLUSTERING', title: 3 }] }
  t.strictSame(requestsOf(batchEmbedContentsFace, batch), [
    { model: 'models/m', content: content('a') },
    { model: 'models/m', content: content('b'), taskType: 'CLUSTERING' }
  ])
  t.equal(batchEmbedContentsFace.read({ requests: [{ content: content('a') }] }, context).purposes, undefined)
})

t.test('a model of the list has its name without the collection', async t => {
  const { write, read } = contentCompatibleModelList
  t.equal(write(options).path, '/v1beta/models?pageSize=1000')
  const models = [
    { name: 'models/a', displayName: 'A', supportedGenerationMethods: ['generateContent', 'countTokens'] },
    { name: 'models/b', supportedGenerationMethods: ['embedContent'] },
    { name: 'models/c', supportedGenerationMethods: ['predict'] },
    { displayName: 'without a name' },
    'odd'
  ]
  const page = read({ models, nextPageToken: 'two' })
  t.match(page.models, [
    { id: 'a', modelType: 'chat', providerMetadata: {} },
    { id: 'b', modelType: 'embedder' },
    { id: 'c', modelType: null },
    undefined,
    undefined
  ])
  t.equal(page.cursor, 'two')
  t.equal(write(options, 'two').path, '/v1beta/models?pageSize=1000&pageToken=two')
  t.throws(() => read({}), { code: 'provider_protocol_error' })
})
