import t from 'tap'
import { checkQuery, readPage, readRetrieval } from '../../../worker/memory/read-query.ts'

t.test('a page is the 20 newest items unless the query says otherwise', async t => {
  t.strictSame(readPage({}), { after: undefined, limit: 20, order: 'desc' })
  t.strictSame(readPage({ after: 'msg_1', limit: ['5', '100'], order: 'asc', 'include[]': ['a', 'b'] }), {
    after: 'msg_1',
    limit: 100,
    order: 'asc'
  })
})

t.test('a wrong value is refused with the name of its parameter', async t => {
  for (const [name, value] of [
    ['limit', '0'],
    ['limit', '101'],
    ['limit', '1.5'],
    ['limit', ''],
    ['limit', '99999999999999999999'],
    ['order', 'newest'],
    ['after', '']
  ] as const) {
    t.throws(
      () => readPage({ [name]: value }),
      { code: 'invalid_request', status: 400, param: name },
      `${name}=${value}`
    )
  }
  t.throws(() => readRetrieval({ stream: 'yes' }), { code: 'invalid_request', param: 'stream' })
  t.throws(() => readRetrieval({ starting_after: '-1' }), { code: 'invalid_request', param: 'starting_after' })
  t.throws(() => readRetrieval({ include_obfuscation: '1' }), { code: 'invalid_request', param: 'include_obfuscation' })
})

t.test('an unknown parameter is refused by name, a key and the version of a service are none', async t => {
  t.throws(() => readPage({ before: 'msg_1' }), { code: 'invalid_request', param: 'before' })
  t.throws(() => readRetrieval({ 'expand[]': 'a' }), { code: 'invalid_request', param: 'expand' })
  t.throws(() => checkQuery({ include: 'a' }), { code: 'invalid_request', param: 'include' })
  t.doesNotThrow(() => checkQuery({ key: 'k', 'x-api-key': 'k', 'api-version': 'preview' }))
})

t.test('a retrieval is whole and from the first event unless the query says otherwise', async t => {
  t.strictSame(readRetrieval({}), { isStream: false, startingAfter: -1 })
  t.strictSame(readRetrieval({ stream: 'true', starting_after: '7', include_obfuscation: 'false' }), {
    isStream: true,
    startingAfter: 7
  })
})
