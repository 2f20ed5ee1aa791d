import t from 'tap'
import { GatewayError, JSON_DEPTH_MAX } from '../../../worker/normalized/index.ts'
import { readJsonObject } from '../../../worker/translation/json-body.ts'
import * as fc from '../../support/properties.ts'

function messageOf(body: string | Uint8Array): string {
  try {
    readJsonObject(typeof body === 'string' ? Buffer.from(body) : body)
  } catch (error) {
    if (GatewayError.is(error) && error.code === 'invalid_json' && error.status === 400) return error.message
    throw error
  }
  return 'accepted'
}

t.test(
  'operations 27: an empty body, invalid JSON and JSON that is not an object have different error texts',
  async t => {
    t.equal(messageOf(''), 'Request body is empty (expected JSON).')
    t.equal(messageOf(' \r\n\t '), 'Request body is empty (expected JSON).')
    t.match(messageOf('{'), /^Invalid JSON body: .+/)
    t.match(messageOf('{"a":1}}'), /^Invalid JSON body: .+/)
    for (const body of ['[]', '"x"', '1', 'null', 'true']) {
      t.equal(messageOf(body), 'Invalid JSON body: expected an object at the top level.', body)
    }
  }
)

t.test('what the parser quotes is no part of the message of the gateway itself (decisions.md 96)', async t => {
  const bodies = ['{"a": secret}', '{"a": "secret" "secret"}', '{"secret": "secret', 'secret', '["secret"']
  for (const body of bodies) {
    try {
      readJsonObject(Buffer.from(body))
    } catch (error) {
      if (!GatewayError.is(error)) throw error
      t.match(error.ownMessage, /^Invalid JSON body(?: at position \d+ \(line \d+ column \d+\))?\.$/, body)
    }
  }
})

t.test('any object is read with the same members in the same order', async () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), value => {
      const text = JSON.stringify(value)
      return JSON.stringify(readJsonObject(Buffer.from(text))) === text
    })
  )
})

t.test('a view into a larger buffer is read within its own bounds', async t => {
  const whole = Buffer.from('xxx{"a":1}yyy')
  t.same(readJsonObject(whole.subarray(3, 10)), { a: 1 })
})

t.test('a byte order mark before the text is ignored', async t => {
  t.same(readJsonObject(Buffer.from('\ufeff{"a":1}')), { a: 1 })
})

t.test('nesting is accepted up to the limit and refused beyond it, in arrays and in objects', async t => {
  const arrays = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const tooDeep = `Invalid JSON body: nested deeper than ${JSON_DEPTH_MAX} levels.`
  for (const write of [arrays, objects]) {
    t.equal(messageOf(write(JSON_DEPTH_MAX)), 'accepted')
    t.equal(messageOf(write(JSON_DEPTH_MAX + 1)), tooDeep)
  }
  t.equal(messageOf(arrays(1_000_000)), tooDeep, 'deeper than the stack')
  t.equal(messageOf(`{"a":"${'['.repeat(1000)}"}`), 'accepted', 'brackets inside a string are not nesting')
})

t.test('cost 13: a number beyond the range of a double is refused by its path, wherever it stands', async t => {
  for (const [body, param] of [
    ['{"unknown":1e400}', 'unknown'],
    ['{"tools":[{},{"parameters":{"maximum":-1e400}}]}', 'tools[1].parameters.maximum'],
    ['{"a":[[1,1e309]],"b":1e400}', 'a[0][1]'],
    [`{"${'n'.repeat(1000)}":1e400}`, 'n'.repeat(200)]
  ] as const) {
    const expected = { code: 'invalid_request', status: 400, param }
    t.match(
      catchThrown(() => readJsonObject(Buffer.from(body))),
      expected,
      param
    )
  }
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  t.match(
    catchThrown(() => readJsonObject(Buffer.from(`{"a":1e400,"b":${deep}}`))),
    { code: 'invalid_json' }
  )
  t.same(readJsonObject(Buffer.from('{"a":1e308,"b":"1e400"}')), { a: 1e308, b: '1e400' })
})

function catchThrown(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return error
  }
}

t.test('a member named __proto__ is an ordinary member and changes no prototype', async t => {
  const value = readJsonObject(Buffer.from('{"__proto__":{"isAdmin":true},"constructor":{"prototype":{}}}'))
  t.equal(Object.getPrototypeOf(value), Object.prototype)
  t.ok(Object.hasOwn(value, '__proto__'))
  t.equal(({} as { isAdmin?: boolean }).isAdmin, undefined)
})
