import { encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import t from 'tap'
import { cutLongWords, estimateTokens } from '../../../worker/translation/token-estimate.ts'
import * as fc from '../../support/properties.ts'

const prose = 'The quick brown fox jumps over the lazy dog. Быстрая лиса прыгает. 敏捷的棕色狐狸跳过了懒狗。 '

t.test('the tokens of all texts are added', async t => {
  const texts = ['Hello, world!', prose.repeat(20), '{"type":"object","properties":{"city":{"type":"string"}}}']
  const expected = texts.reduce((sum, text) => sum + encode(text).length, 0)
  t.equal(await estimateTokens({ model: 'mini-7b', texts }), expected)
  t.equal(await estimateTokens({ model: undefined, texts: [] }), 0)
})

t.test('a model whose tokenizer is public is counted with it, with and without its vendor', async t => {
  const texts = [prose.repeat(20)]
  const expected = encodeCl100k(texts[0] ?? '').length
  t.not(expected, encode(texts[0] ?? '').length)
  for (const model of ['gpt-4', 'openai/gpt-4', 'cl100k_base'])
    t.equal(await estimateTokens({ model, texts }), expected)
})

t.test('the name of a special token is text', async t => {
  t.ok((await estimateTokens({ model: 'm', texts: ['a <|endoftext|> b'] })) > 5)
})

t.test('a text is cut only inside of long words, never inside of a character', async t => {
  t.same(cutLongWords(prose.repeat(50)), [prose.repeat(50)])
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', ' ', '😀', '\ud83d', 'wort', ' '.repeat(300), 'x'.repeat(255), '語'.repeat(600)), {
        maxLength: 40
      }),
      pieces => {
        const text = pieces.join('')
        const parts = cutLongWords(text)
        if (parts.join('') !== text) return false
        const halves = parts.filter((part, index) => {
          const next = parts[index + 1]
          return next !== undefined && (`${part.at(-1)}${next[0]}`.codePointAt(0) ?? 0) > 0xffff
        })
        const longest = parts.flatMap(part => part.match(/\S+|\s+/g) ?? []).map(run => run.length)
        return halves.length === 0 && Math.max(0, ...longest) <= 257
      }
    )
  )
})

t.test('a text of one word takes time in proportion to its length', async t => {
  for (const word of ['a', ' ', '\ud83d', 'q', '語']) {
    const tokens = await estimateTokens({ model: 'm', texts: [word.repeat(200_000)] })
    t.ok(tokens > 200_000 / 256, word)
  }
})
