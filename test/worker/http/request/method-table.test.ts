import t from 'tap'
import { createMethodTable } from '../../../../worker/http/request/method-table.ts'
import { systemTraits } from '../../../../worker/http/request/route-traits.ts'

t.test('the methods of every pattern that fits a path are listed once, sorted, without HEAD', async t => {
  const table = createMethodTable()
  table.add('/ping', ['GET', 'HEAD', 'POST'], undefined)
  table.add('/v1/models/*', ['GET'], undefined)
  table.add('/v1/models/*', ['POST'], undefined)
  table.add('/logs/:last_n_lines', ['GET'], undefined)
  table.add('/openapi.json', ['GET'], undefined)
  t.equal(table.find('/ping')?.allow, 'GET, POST')
  t.equal(table.find('/v1/models/a/b:generateContent')?.allow, 'GET, POST')
  t.equal(table.find('/logs/5')?.allow, 'GET')
  t.equal(table.find('/logs/5/6')?.allow, undefined)
  t.equal(table.find('/logs/')?.allow, undefined)
  t.equal(table.find('/openapiXjson')?.allow, undefined, 'a dot is a dot')
  t.equal(table.find('/pingx')?.allow, undefined)
  t.equal(table.find('/nope')?.allow, undefined)
})

t.test('a pattern that is served by HEAD alone is not listed', async t => {
  const table = createMethodTable()
  table.add('/x', ['HEAD'], undefined)
  t.equal(table.find('/x')?.allow, undefined)
})

t.test('a known path brings the traits of its route and the decoded text in place of the asterisk', async t => {
  const table = createMethodTable()
  const models = systemTraits('/v1/models/{model}')
  table.add('/v1/models/*', ['GET'], models)
  table.add('/health', ['GET'], undefined)
  t.same(table.find('/v1/models/a%2Fb%3AcountTokens'), { allow: 'GET', traits: models, rest: 'a/b:countTokens' })
  t.equal(table.find('/v1/models/%zz')?.rest, '%zz', 'what cannot be decoded stays as it is')
  t.same(table.find('/health'), { allow: 'GET', traits: undefined, rest: '' })
})
