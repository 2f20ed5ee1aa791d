import t from 'tap'
import type { JsonObject, JsonValue } from '../../../../../worker/normalized/index.ts'
import {
  readBatchEmbedContentsRequest,
  readEmbedContentRequest,
  writeBatchEmbedContentsResponse,
  writeEmbedContentResponse
} from '../../../../../worker/protocols/content/client/embeddings.ts'
import { createSdk } from './sdk.ts'
import { failure } from './support.ts'

const refusedAt = (content: JsonValue) => failure(() => readEmbedContentRequest({ content })).param
const batchRefusedAt = (body: JsonObject) => failure(() => readBatchEmbedContentsRequest(body)).param

t.test('the text parts of one content are joined to one text', async t => {
  t.strictSame(readEmbedContentRequest({ content: { parts: [{ text: 'a' }, { text: 'b' }] } }).texts, ['ab'])
  t.strictSame(readEmbedContentRequest({ content: { parts: { text: 'a' } } }).texts, ['a'])
  t.strictSame(readEmbedContentRequest({ content: 'plain' }).texts, ['plain'])
  t.strictSame(writeEmbedContentResponse({ vectors: [[0.5, -1]], promptTokens: 3 }), {
    embedding: { values: [0.5, -1] },
    usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 }
  })
})

t.test('a batch is one text per request, in order', async t => {
  const requests = [
    { model: 'models/other', content: { parts: [{ text: 'a' }] }, outputDimensionality: 3 },
    { content: 'b', taskType: 'RETRIEVAL_QUERY', title: 't' }
  ]
  const read = readBatchEmbedContentsRequest({ requests, extra_headers: { 'x-a': 'b' }, other: 1 })
  t.strictSame(read, {
    texts: ['a', 'b'],
    ignored: { other: 1 },
    purposes: [{ dimensions: 3 }, { taskType: 'RETRIEVAL_QUERY', title: 't' }],
    fieldPaths: { purposes: ['requests[1].taskType', 'requests[1].title', 'requests[0].outputDimensionality'] },
    extraHeaders: { 'x-a': 'b' }
  })
  t.strictSame(writeBatchEmbedContentsResponse({ vectors: [[1], [2]], promptTokens: null }), {
    embeddings: [{ values: [1] }, { values: [2] }]
  })
})

t.test('content 73: a content without text, or with other parts, is refused', async t => {
  const cases: Array<[JsonValue, string]> = [
    [null, 'content'],
    [3, 'content'],
    ['', 'content'],
    [{}, 'content.parts'],
    [{ parts: [] }, 'content.parts'],
    [{ parts: [{ text: '' }] }, 'content.parts'],
    [{ parts: ['a'] }, 'content.parts[0]'],
    [{ parts: [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: 'AA==' } }] }, 'content.parts[1].text']
  ]
  for (const [content, path] of cases) t.equal(refusedAt(content), path, JSON.stringify(content))
  t.equal(batchRefusedAt({}), 'requests')
  t.equal(batchRefusedAt({ requests: [] }), 'requests')
  t.equal(batchRefusedAt({ requests: { content: 'a' } }), 'requests')
  t.equal(batchRefusedAt({ requests: ['a'] }), 'requests[0]')
  t.equal(batchRefusedAt({ requests: [{ content: 'a' }, {}] }), 'requests[1].content')
  t.equal(batchRefusedAt({ requests: Array.from({ length: 2049 }, () => ({ content: 'a' })) }), 'requests')
  t.equal(failure(() => readEmbedContentRequest({ content: 'a', extra_headers: 'x' })).param, 'extra_headers')
})

t.test("the SDK's call is one batch in the order of the texts", async t => {
  const seen: string[][] = []
  const sdk = createSdk(({ operation, body }) => {
    t.equal(operation?.operation, 'batchEmbedContents')
    const { texts } = readBatchEmbedContentsRequest(body)
    seen.push(texts)
    const vectors = texts.map(text => [text.charCodeAt(0)])
    return Response.json(writeBatchEmbedContentsResponse({ vectors, promptTokens: 2 }))
  })
  const response = await sdk.models.embedContent({
    model: 'e',
    contents: ['a', 'b'],
    config: { outputDimensionality: 3, taskType: 'RETRIEVAL_QUERY' }
  })
  t.strictSame(seen, [['a', 'b']])
  t.strictSame(response.embeddings, [{ values: [97] }, { values: [98] }])
  t.equal(response.usageMetadata?.promptTokenCount, 2)
})
