import t from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import {
  dropReasoningFields,
  readAdditionalFields
} from '../../../../../worker/protocols/shared/members/additional-fields.ts'
import { type ParameterTable, sortParameters } from '../../../../../worker/protocols/shared/members/parameters.ts'

const table: ParameterTable = {
  model: { class: 'supported' },
  flags: { class: 'supported', isAdditionalField: true },
  seed: { class: 'accepted_ignored' },
  prompt: { class: 'rejected' },
  moderation: { class: 'rejected', rejection: 'unsupported_semantic' },
  api_key: { class: 'not_applicable' }
}

t.test('members are sorted by the class that the table gives them (E1)', async t => {
  const sorted = sortParameters({ model: 'm', flags: ['x'], seed: 7, api_key: 'secret', unknown: { a: 1 } }, table)
  t.strictSame(sorted.ignored, { seed: 7, api_key: null }, 'a value that may be a secret is not kept')
  t.strictSame(sorted.additional, { flags: ['x'], unknown: { a: 1 } })
})

t.test('a rejected parameter is refused by its name', async t => {
  t.throws(() => sortParameters({ prompt: {} }, table), { code: 'unsupported_parameter', param: 'prompt' })
  t.throws(() => sortParameters({ moderation: 1 }, table), { code: 'unsupported_semantic', param: 'moderation' })
  t.strictSame(sortParameters({ prompt: null, moderation: null }, table), { ignored: {}, additional: {} })
})

t.test('a name that would reach a prototype is refused at every place', async t => {
  const parse = (text: string): JsonObject => JSON.parse(text)
  t.throws(() => sortParameters(parse('{"__proto__":{"a":1}}'), table), { code: 'invalid_request', param: '__proto__' })
  t.throws(() => sortParameters(parse('{"constructor":1}'), table), { code: 'invalid_request', param: 'constructor' })
  const inBody = parse('{"extra_body":{"prototype":1}}')
  t.throws(() => readAdditionalFields(inBody, {}), { code: 'invalid_request', param: 'extra_body.prototype' })
  const nested = parse('{"additional_fields":{"model_options":{"__proto__":1}}}')
  t.throws(() => readAdditionalFields(nested, {}), {
    code: 'invalid_request',
    param: 'additional_fields.model_options.__proto__'
  })
  const expanded = parse('{"model_options":{"__proto__":1}}')
  t.throws(() => readAdditionalFields({}, expanded), { code: 'invalid_request', param: 'model_options.__proto__' })
  t.equal(({} as JsonObject).a, undefined)
})

t.test('names of the table are not looked up in its prototype', async t => {
  t.strictSame(sortParameters({ toString: 1 }, table).additional, { toString: 1 })
})

t.test('a literal extra_body and its expanded form give the same fields (E5)', async t => {
  const literal = readAdditionalFields({ extra_body: { zz: 2, flags: ['x'] } }, {})
  const expanded = readAdditionalFields({}, { zz: 2, flags: ['x'] })
  t.strictSame(literal, expanded)
})

t.test('the later map of additional fields wins', async t => {
  const fields = readAdditionalFields(
    { extra_body: { b: 'extra', c: 'extra' }, additional_fields: { c: 'additional' } },
    { a: 'top', b: 'top', c: 'top' }
  )
  t.strictSame(fields, { a: 'top', b: 'extra', c: 'additional' })
})

t.test('additional fields contain neither stream nor the maps themselves', async t => {
  const extra = { stream: true, extra_body: { a: 1 }, additional_fields: {} }
  t.equal(readAdditionalFields({ extra_body: extra }, {}), undefined)
})

t.test('a map of additional fields that is no object is refused', async t => {
  for (const value of ['x', 1, true, [{}]]) {
    t.throws(() => readAdditionalFields({ extra_body: value }, {}), {
      code: 'unsupported_parameter',
      status: 400,
      param: 'extra_body'
    })
    t.throws(() => readAdditionalFields({ additional_fields: value }, {}), {
      code: 'unsupported_parameter',
      param: 'additional_fields'
    })
  }
  t.equal(readAdditionalFields({ extra_body: null }, {}), undefined)
})

t.test('reasoning is removed from the fields and from their model options', async t => {
  const fields = { reasoning: {}, reasoning_effort: 'high', model_options: { reasoning: {}, preset: 'p' }, zz: 1 }
  t.strictSame(dropReasoningFields(fields), { model_options: { preset: 'p' }, zz: 1 })
})

t.test('cost 6: an object with very many additional members is refused by its name', async t => {
  const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`m${index}`, index]))
  const { m1000: _last, ...accepted } = many
  t.throws(() => sortParameters(many, table), { code: 'invalid_request', param: 'm1000' })
  t.equal(Object.keys(sortParameters(accepted, table).additional).length, 1000)
  for (const member of ['extra_body', 'additional_fields']) {
    t.throws(() => readAdditionalFields({ [member]: many }, {}), { code: 'invalid_request', param: member })
    t.throws(() => readAdditionalFields({ [member]: { model_options: many } }, {}), {
      code: 'invalid_request',
      param: `${member}.model_options`
    })
  }
})
