import t from 'tap'
import { nativeEmbeddings } from '../../../../worker/protocols/native/embeddings.ts'

const head = { status: 200, headers: {} }
const read = (body: unknown, count: number) => nativeEmbeddings.read(body, { count, head })

t.test('the vectors of an embeddings response are sorted by index and must be complete', async t => {
  const item = (index: number | undefined, embedding: unknown, tokens?: number) => ({
    ...(index === undefined ? {} : { index }),
    embedding,
    ...(tokens === undefined ? {} : { usage: { prompt_tokens: tokens } })
  })
  t.same(read({ data: [item(1, [2], 5), item(0, [1], 7)] }, 2), { vectors: [[1], [2]], promptTokens: 12, metadata: {} })
  t.same(read({ data: [item(undefined, [1])], usage: { prompt_tokens: 3 } }, 1), {
    vectors: [[1]],
    promptTokens: 3,
    metadata: {}
  })
  t.same(read({ data: [item(0, [1])] }, 1), { vectors: [[1]], promptTokens: null, metadata: {} })
  for (const body of [
    null,
    {},
    { data: [] },
    { data: [item(0, [1]), item(0, [1])] },
    { data: [item(2, [1])] },
    { data: [item(-1, [1])] },
    { data: [item(0.5, [1])] },
    { data: [item(0, 'text')] },
    { data: [item(0, ['1'])] },
    { data: [null] }
  ]) {
    t.throws(() => read(body, 1), { code: 'provider_protocol_error' }, JSON.stringify(body))
  }
})
