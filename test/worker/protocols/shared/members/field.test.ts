import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import {
  keepDefined,
  readObject,
  readOptionalArray,
  readOptionalBoolean,
  readOptionalNumber,
  readOptionalObject,
  readOptionalPositiveInteger,
  readOptionalString,
  readString
} from '../../../../../worker/protocols/shared/members/field.ts'

const body: JsonObject = { text: 'a', empty: '', count: 3, half: 0.5, yes: true, map: { a: 1 }, list: [1], none: null }

t.test('a member of the right type is returned unchanged', async t => {
  t.equal(readString(body, 'text'), 'a')
  t.equal(readOptionalString(body, 'empty'), '')
  t.equal(readOptionalNumber(body, 'half'), 0.5)
  t.equal(readOptionalPositiveInteger(body, 'count'), 3)
  t.equal(readOptionalBoolean(body, 'yes'), true)
  t.equal(readObject(body, 'map'), body.map)
  t.equal(readOptionalObject(body, 'map'), body.map)
  t.equal(readOptionalArray(body, 'list'), body.list)
})

t.test('an optional member may be absent or null', async t => {
  for (const member of ['none', 'missing']) {
    t.equal(readOptionalString(body, member), undefined)
    t.equal(readOptionalNumber(body, member), undefined)
    t.equal(readOptionalPositiveInteger(body, member), undefined)
    t.equal(readOptionalBoolean(body, member), undefined)
    t.equal(readOptionalObject(body, member), undefined)
    t.equal(readOptionalArray(body, member), undefined)
  }
})

t.test('a member of another type is refused with its path and without its value', async t => {
  const cases: Array<[() => unknown, string, string]> = [
    [() => readString(body, 'missing', 'a[0]'), 'a[0].missing', "'a[0].missing' must be a string, but it is missing."],
    [() => readString(body, 'count'), 'count', "'count' must be a string, but it is a number."],
    [() => readString(body, 'empty', 'a'), 'a.empty', "'a.empty' must not be empty."],
    [() => readObject(body, 'none'), 'none', "'none' must be an object, but it is null."],
    [() => readOptionalString(body, 'map', 'a'), 'a.map', "'a.map' must be a string, but it is an object."],
    [() => readOptionalNumber(body, 'text'), 'text', "'text' must be a number, but it is a string."],
    [() => readOptionalPositiveInteger(body, 'half'), 'half', "'half' must be a positive integer."],
    [() => readOptionalBoolean(body, 'list'), 'list', "'list' must be a boolean, but it is an array."],
    [() => readOptionalObject(body, 'yes'), 'yes', "'yes' must be an object, but it is a boolean."],
    [() => readOptionalArray(body, 'map', 'b'), 'b.map', "'b.map' must be an array, but it is an object."]
  ]
  for (const [run, param, message] of cases) t.throws(run, { code: 'invalid_request', status: 400, param, message })
})

t.test('undefined members are left out and all others stay', async t => {
  t.strictSame(keepDefined({ a: undefined, b: 0, c: '', d: null, e: false }), { b: 0, c: '', d: null, e: false })
})
