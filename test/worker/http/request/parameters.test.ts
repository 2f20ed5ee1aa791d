import t from 'tap'
import {
  boolean,
  integer,
  optional,
  readParameters,
  required,
  text,
  withDefault
} from '../../../../worker/http/request/parameters.ts'
import { GatewayError } from '../../../../worker/normalized/index.ts'
import * as fc from '../../../support/properties.ts'

const lines = { lines: withDefault(integer({ min: 1, max: 500 }), 100) }

function refusal(read: () => unknown): GatewayError {
  try {
    read()
  } catch (error) {
    if (GatewayError.is(error)) return error
  }
  throw new Error('Nothing was refused.')
}

function messageOf(given: string, parameter: Parameters<typeof readParameters>[2][string]): string | undefined {
  return refusal(() => readParameters('query', { a: given }, { a: parameter })).errors?.[0]?.message
}

t.test('whole numbers are read with their bounds', async t => {
  t.same(readParameters('query', {}, lines), { lines: 100 })
  t.same(readParameters('query', { lines: '1' }, lines), { lines: 1 })
  t.same(readParameters('query', { lines: ['7', '500'], other: 'x' }, lines), { lines: 500 })
  const bounded = integer({ min: 1, max: 500 })
  const notWhole = 'Input should be a valid integer, unable to parse string as an integer'
  for (const given of ['', 'x', '1.0', '1e2', ' 1', '0x1', '１', 'NaN', '--1', '1_0']) {
    t.equal(messageOf(given, required(bounded)), notWhole, given)
  }
  t.equal(messageOf('0', required(bounded)), 'Input should be greater than or equal to 1')
  t.equal(messageOf('-3', required(bounded)), 'Input should be greater than or equal to 1')
  t.equal(messageOf('501', required(bounded)), 'Input should be less than or equal to 500')
  t.equal(messageOf('9'.repeat(400), required(bounded)), 'Input should be less than or equal to 500')
})

t.test('booleans are the words of the contract in any case', async t => {
  for (const word of ['true', '1', 'on', 't', 'y', 'yes', 'TRUE', 'Yes']) {
    t.same(readParameters('query', { a: word }, { a: required(boolean) }), { a: true }, word)
  }
  for (const word of ['false', '0', 'off', 'f', 'n', 'no', 'FALSE', 'No']) {
    t.same(readParameters('query', { a: word }, { a: required(boolean) }), { a: false }, word)
  }
  for (const word of ['', 'maybe', '2', ' true', 'truee']) {
    t.equal(messageOf(word, optional(boolean)), 'Input should be a valid boolean, unable to interpret input', word)
  }
})

t.test('every wrong place is named at once, under the place of its values', async t => {
  const parameters = { id: required(text), limit: required(integer({ min: 1 })), flag: optional(boolean) }
  const error = refusal(() => readParameters('path', { limit: '0', flag: 'x' }, parameters))
  t.same([error.code, error.status, error.message], ['invalid_parameter', 422, 'Invalid request parameters.'])
  t.same(error.errors, [
    { path: 'path.id', message: 'Field required' },
    { path: 'path.limit', message: 'Input should be greater than or equal to 1' },
    { path: 'path.flag', message: 'Input should be a valid boolean, unable to interpret input' }
  ])
  t.same(readParameters('path', { id: '', limit: '1' }, parameters), { id: '', limit: 1, flag: undefined })
  t.same(error.with({ message: 'other' }).errors, error.errors)
})

t.test('a member of the prototype is no value', async t => {
  t.same(readParameters('query', {}, { constructor: optional(text), toString: optional(text) }), {
    constructor: undefined,
    toString: undefined
  })
})

t.test('any text is read as what it says or refused with a message of the contract', async t => {
  const texts = fc.oneof(fc.string(), fc.integer().map(String))
  const property = fc.property(texts, fc.integer(), fc.nat(), (given, min, span) => {
    const parameters = { a: required(integer({ min, max: min + span })) }
    try {
      const { a } = readParameters('query', { a: given }, parameters)
      return Number.isInteger(a) && a >= min && a <= min + span && a === Number(given)
    } catch (error) {
      return GatewayError.is(error) && error.errors?.length === 1 && !error.errors[0]?.message.includes('NaN')
    }
  })
  t.doesNotThrow(() => fc.assert(property))
})
