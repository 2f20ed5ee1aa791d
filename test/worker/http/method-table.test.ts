import t from 'tap'
import { createMethodTable } from '../../../worker/http/method-table.ts'

t.test('the methods of every pattern that fits a path are listed once, sorted, without HEAD', async t => {
  const table = createMethodTable()
  table.add('/ping', ['GET', 'HEAD', 'POST'])
  table.add('/v1/models/*', ['GET'])
  table.add('/v1/models/*', ['POST'])
  table.add('/logs/:last_n_lines', ['GET'])
  table.add('/openapi.json', ['GET'])
  t.equal(table.allowedMethods('/ping'), 'GET, POST')
  t.equal(table.allowedMethods('/v1/models/a/b:generateContent'), 'GET, POST')
  t.equal(table.allowedMethods('/logs/5'), 'GET')
  t.equal(table.allowedMethods('/logs/5/6'), undefined)
  t.equal(table.allowedMethods('/logs/'), undefined)
  t.equal(table.allowedMethods('/openapiXjson'), undefined, 'a dot is a dot')
  t.equal(table.allowedMethods('/pingx'), undefined)
  t.equal(table.allowedMethods('/nope'), undefined)
})

t.test('a pattern that is served by HEAD alone is not listed', async t => {
  const table = createMethodTable()
  table.add('/x', ['HEAD'])
  t.equal(table.allowedMethods('/x'), undefined)
})
