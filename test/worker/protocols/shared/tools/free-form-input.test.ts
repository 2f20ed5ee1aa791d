// The input of a custom tool in the arguments of the function that stands for it (decisions.md 77).
import t from 'tap'
import { FreeFormInput, readFreeFormInput } from '../../../../../worker/protocols/shared/tools/free-form-input.ts'
import * as fc from '../../../../support/properties.ts'

function readPieces(...pieces: string[]): string[] {
  const input = new FreeFormInput()
  return [...pieces.map(piece => input.add(piece)), input.end()]
}

t.test('the input is the text of the parameter', async t => {
  const patch = '*** Begin Patch\n"x"\t\\ / é 😀 \u2028'
  for (const text of [
    JSON.stringify({ input: patch }),
    JSON.stringify({ input: patch }, null, 2),
    ` { "input" :\n ${JSON.stringify(patch)} , "more": 1}`,
    `{"input":${JSON.stringify(patch).replaceAll('/', '\\/').replaceAll('é', '\\u00e9').replace('😀', '\\ud83d\\uDE00')}}`,
    JSON.stringify({ more: 1, input: patch }),
    JSON.stringify(patch),
    patch
  ]) {
    t.equal(readFreeFormInput(text), patch, text)
  }
})

t.test('arguments without the parameter are the input as they are', async t => {
  for (const text of ['{"patch":"x"}', '{"input', '{ not JSON', '[1]', '"cut', '5', ' plain ', '{"inputs":"x"}']) {
    t.equal(readFreeFormInput(text), text, text)
  }
  for (const text of ['', '{}', ' { } ', '{"input":""}']) t.equal(readFreeFormInput(text).trim(), '', text)
  t.equal(readFreeFormInput('{"input":{"a":[1]}}'), '{"a":[1]}')
  const deep = `{"input":${'['.repeat(5000)}${']'.repeat(5000)}}`
  t.equal(readFreeFormInput(deep), deep)
})

t.test('the text streams as soon as it is known, and never half a character', async t => {
  t.strictSame(readPieces('{"in', 'put": "', 'ab', '\\', 'nc\\u0', '0e9', '"}', ''), [
    '',
    '',
    'ab',
    '',
    '\nc',
    'é',
    '',
    '',
    ''
  ])
  t.strictSame(readPieces('{"input":"a\\ud83d', '\\ude00b"}'), ['a', '😀b', ''])
  t.strictSame(readPieces('{"input":"a\ud83d', '\ude00b"}'), ['a', '😀b', ''])
  t.strictSame(readPieces('plain ', 'text'), ['', '', 'plain text'])
})

t.test('small mistakes of a model stay in the text', async t => {
  t.equal(readFreeFormInput('{"input":"a\nb\\q\\u12zz"}'), 'a\nb\\q\\u12zz')
  t.equal(readFreeFormInput('{"input":"cut'), 'cut')
  t.equal(readFreeFormInput('{"input":"cut\\ud83d'), 'cut\ud83d')
})

t.test('pieces give what the whole text gives', async () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }).map(input => JSON.stringify({ input })),
    fc.string({ unit: 'binary' }).map(input => `{"input":"${input}`),
    fc.string({ unit: 'binary' })
  )
  fc.assert(
    fc.property(anyText, fc.array(fc.nat({ max: 40 }), { maxLength: 8 }), (text, cuts) => {
      const places = [0, ...cuts.map(cut => Math.min(cut, text.length)).sort((a, b) => a - b), text.length]
      const pieces = places.slice(1).map((place, index) => text.slice(places[index], place))
      return readPieces(...pieces).join('') === readFreeFormInput(text)
    })
  )
  fc.assert(fc.property(fc.string({ unit: 'binary' }), input => readFreeFormInput(JSON.stringify({ input })) === input))
})
