// What is copied of content for observers: bounded, sorted, and never cut inside of something that redaction looks for.

import t from 'tap'
import { createRedactor } from '../../../shared/secrets/redaction.ts'
import { captureList, captureValue, cutText } from '../../../worker/translation/capture.ts'
import * as fc from '../../support/properties.ts'

/** What may be copied beyond the bound. */
const SLACK = 4096

t.test('plain data is copied whole, with its members in sorted order', async t => {
  const value = { b: [1, true, null, 'x'], a: { d: undefined, c: '' } }
  const captured = captureValue(value, 1000)
  t.same(captured, { value: { a: { c: '' }, b: [1, true, null, 'x'] }, isCut: false })
  t.equal(JSON.stringify(captured.value), '{"a":{"c":""},"b":[1,true,null,"x"]}')
})

t.test('values that are no JSON become null', async t => {
  t.same(captureValue([() => 1, 1n, Symbol('a')], 100).value, [null, null, null])
})

t.test('what does not fit is not even made', async t => {
  let made = 0
  function* texts(): Generator<string> {
    for (;;) {
      made += 1
      yield 'a word '.repeat(100)
    }
  }
  const captured = captureList(texts(), 1000)
  t.equal(captured.isCut, true)
  t.ok(made < 12, `${made} texts`)
})

t.test('any value stays near its bound', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(2000), (value, max) => {
      const { value: copy, isCut } = captureValue(value, max)
      const written = JSON.stringify(copy)
      return isCut || written.length <= 6 * (max + SLACK)
    })
  )
})

t.test('deep nesting ends, and so does an object with endless members', async t => {
  let deep: unknown = 1
  for (let level = 0; level < 5000; level += 1) deep = [deep]
  t.match(JSON.stringify(captureValue(deep, 100).value), /too deep/)
  const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`member${index}`, index]))
  const captured = captureValue(wide, 100)
  t.equal(captured.isCut, true)
  t.ok(JSON.stringify(captured.value).length < 10_000)
})

t.test('a member named __proto__ stays a member', async t => {
  const { value } = captureValue(JSON.parse('{"__proto__": {"a": 1}}'), 100)
  t.equal(JSON.stringify(value), '{"__proto__":{"a":1}}')
})

t.test('a text is cut before a word, and before a private key that does not end', async t => {
  t.equal(cutText('one two', 7), 'one two')
  t.equal(cutText('one two three', 9), 'one two ')
  t.equal(cutText(`x -----BEGIN PRIVATE KEY-----\n${'a\n'.repeat(500)}`, 300), 'x ')
  t.equal(cutText('a'.repeat(10_000), 5000).length, 5000 - SLACK)
})

t.test('no part of a secret is left where a text is cut in it', async () => {
  const redactor = createRedactor({ knownSecrets: ['configured-secret-value'] })
  const secrets = ['sk-abcdefghijklmnopqrstuvwxyz', 'configured-secret-value', 'AIzaabcdefghijklmnopqrstuvwxyz']
  fc.assert(
    fc.property(
      fc.constantFrom(...secrets),
      fc.nat(60),
      fc.constantFrom(' ', '"', "'", '&', ','),
      (secret, at, separator) => {
        const text = `${'x'.repeat(30)}${separator}${secret}${separator}rest`
        const shown = redactor.redactText(cutText(text, at))
        for (let length = 6; length <= secret.length; length += 1) {
          if (shown.includes(secret.slice(0, length))) return false
        }
        return true
      }
    )
  )
})
