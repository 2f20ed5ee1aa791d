import t from 'tap'
import { createModelPathTest, readOperationPath, rootOf, writeTemplate } from '../../../worker/operations/path.ts'
import { operations } from '../../../worker/operations/table.ts'

t.test('a path has the pattern of the router, a template for people, and a verb', async t => {
  const rows = [
    ['/chat/completions', '/chat/completions', '/chat/completions'],
    ['/responses/{id}', '/responses/:id', '/responses/{id}'],
    ['/responses/{id}/input_items', '/responses/:id/input_items', '/responses/{id}/input_items'],
    ['/models/{model+}', '/models/*', '/models/{model}'],
    ['/models/{model+}:countTokens', '/models/*', '/models/{model}:countTokens'],
    ['/a/{b}/models/{model+}:run', '/a/:b/models/*', '/a/{b}/models/{model}:run']
  ] as const
  for (const [path, pattern, template] of rows) {
    const read = readOperationPath({ path })
    t.equal(read.pattern, pattern)
    t.equal(writeTemplate(read), template)
  }
  t.match(readOperationPath({ path: '/a/{b}/{c}/models/{model+}:run' }), {
    template: '/a/{b}/{c}/models/{model}',
    verb: 'run',
    segments: ['b', 'c'],
    rest: 'model'
  })
})

t.test('the root of a path is its first segment, unless it says another', async t => {
  t.equal(rootOf({ path: '/chat/completions' }), 'chat')
  t.equal(rootOf({ path: '/openai/deployments/{model}/embeddings', root: 'openai/deployments' }), 'openai/deployments')
})

t.test('no two operations have the same id, or the same method and path', async t => {
  const routes = operations.flatMap(({ method, path, prefixes }) =>
    prefixes.map(prefix => `${method} ${prefix}${path}`)
  )
  t.equal(new Set(routes).size, routes.length)
  t.equal(new Set(operations.map(({ id }) => id)).size, operations.length)
})

t.test('model paths are recognised by their ending', async t => {
  const isModelPath = createModelPathTest(operations)
  for (const path of [
    '/chat/completions',
    '/v1/chat/completions/',
    '/v2/embeddings',
    '/messages',
    '/v1/messages/count_tokens',
    '/responses',
    '/v1beta/models/x:generateContent',
    '/models/a/b:streamGenerateContent',
    '/models/x:countTokens',
    '/models/x:embedContent',
    '/models/x:batchEmbedContents'
  ]) {
    t.ok(isModelPath(path), path)
  }
  for (const path of ['/', '/models', '/v1/models/x', '/health', '/messages/batches', '/responses/resp_1']) {
    t.notOk(isModelPath(path), path)
  }
})

t.test('a parameter in the path of a model request stands for any text', async t => {
  const [first] = operations
  const isModelPath = createModelPathTest([{ ...first, path: '/responses/{id}/continue' }])
  t.ok(isModelPath('/v1/responses/resp_1/continue'))
  t.notOk(isModelPath('/v1/responses/continue'))
  t.notOk(createModelPathTest([])('/v1/responses'))
})
