import t, { type Test } from 'tap'
import type { JsonObject } from '../../../../../worker/normalized/index.ts'
import { JsonEdits } from '../../../../../worker/protocols/shared/json/edits.ts'
import { editBody, editJson } from '../../../../../worker/protocols/shared/json/spans.ts'

/** The text with changes in its bytes. The parsed value with the same changes is the same. */
function edit(t: Test, text: string, change: (edits: JsonEdits) => void): string | undefined {
  const edits = new JsonEdits()
  change(edits)
  const received = JSON.parse(text) as JsonObject
  const bytes = editBody(Buffer.from(text), received, edits)
  if (bytes === undefined) return undefined
  // A quoted value is its own text in the bytes, and the text that `JSON.stringify` writes otherwise.
  const isQuoted = [...edits.members.values()].some(({ isQuoted }) => isQuoted)
  if (!isQuoted) t.strictSame(JSON.parse(bytes.toString()), edits.applyTo(received), text)
  return bytes.toString()
}

t.test('only the spans of the changes are replaced', async t => {
  const change = (text: string, make: (edits: JsonEdits) => void, expected: string) =>
    t.equal(edit(t, text, make), expected)
  const odd = '{ "n" : 12345678901234567890, "e":1.50e2,"model":\n"al\\u0069as" , "u":"\\u041f\\/"}'
  change(odd, edits => edits.set(['model'], 'exact'), odd.replace('"al\\u0069as"', '"exact"'))
  change(
    odd.replace('"model"', '"mod\\u0065l"'),
    edits => edits.set(['model'], 'x'),
    odd.replace('"model":\n"al\\u0069as"', '"mod\\u0065l":\n"x"')
  )
  change('{"a":1,"b":2,"c":3}', edits => edits.drop('a'), '{"b":2,"c":3}')
  change('{"a":1,"b":2,"c":3}', edits => edits.drop('b'), '{"a":1,"c":3}')
  change('{ "a":1 , "b":2 , "c":3 }', edits => edits.drop('c'), '{ "a":1 , "b":2 }')
  const all = (edits: JsonEdits) =>
    ['a', 'b', 'c'].forEach(name => {
      edits.drop(name)
    })
  change('{ "a":1 , "b":[{}] , "c":"}" }', all, '{  }')
  change(
    '{"a":1,"b":2,"c":3}',
    edits => {
      edits.drop('a')
      edits.drop('b')
    },
    '{"c":3}'
  )
  change(
    '{"a":1,"b":2,"c":3}',
    edits => {
      edits.drop('b')
      edits.drop('c')
      edits.set(['d'], [1])
    },
    '{"a":1,"d":[1]}'
  )
  change(
    '{"a":1}',
    edits => {
      edits.drop('a')
      edits.set(['b'], 'x')
      edits.set(['c'], null)
    },
    '{"b":"x","c":null}'
  )
  change('{}', edits => edits.set(['b'], 'x'), '{"b":"x"}')
  change('{"a":{"b":1}}', edits => edits.set(['a', 'c'], 2), '{"a":{"b":1,"c":2}}')
  change('{"a":7}', edits => edits.set(['a', 'c'], 2), '{"a":7}')
  change(
    '{"max_tokens": 5,"z":1}',
    edits => edits.rename(['max_tokens'], 'max_completion_tokens'),
    '{"max_completion_tokens": 5,"z":1}'
  )
  change(
    '{"max_tokens": 5,"z":1}',
    edits => {
      edits.rename(['max_tokens'], 'm')
      edits.set(['max_tokens'], 4)
    },
    '{"m": 4,"z":1}'
  )
  change(
    '{"a":{ "n": 12345678901234567890, "t":"\\u0041\\"" }}',
    edits => edits.quote('a'),
    `{"a":${JSON.stringify('{ "n": 12345678901234567890, "t":"\\u0041\\"" }')}}`
  )
  change(
    '{"l":[1,2,3,[4,{"x":5}]]}',
    edits => {
      edits.drop('l', 0)
      edits.drop('l', 2)
      edits.drop('l', 3, 1, 'x')
    },
    '{"l":[2,[4,{}]]}'
  )
  change(
    '{"l":[1, 2, 3]}',
    edits => {
      edits.drop('l', 1)
      edits.drop('l', 2)
    },
    '{"l":[1]}'
  )
  change('{"l":[ 1 ]}', edits => edits.drop('l', 0), '{"l":[  ]}')
  change('{"l":[]}', edits => edits.drop('l', 0), '{"l":[]}')
  change(
    '{"a":{"x":1},"b":2}',
    edits => {
      edits.drop('a', 'x')
      edits.drop('a')
    },
    '{"b":2}'
  )
})

t.test('an object gives way to its members, and a value is replaced only where it is', async t => {
  const spread = (text: string, expected: string) => {
    const make = (edits: JsonEdits) => {
      edits.spread(['extra_body'], new Set(['model']))
      edits.drop('a')
    }
    t.equal(edit(t, text, make), expected)
  }
  spread(
    '{"x":1,"extra_body":{ "b" : 12345678901234567890, "model":"y","c":[1] },"a":2}',
    '{"x":1,"b" : 12345678901234567890,"c":[1]}'
  )
  spread('{"extra_body":{"b":1},"x":1}', '{"b":1,"x":1}')
  spread('{"a":1,"extra_body":{"b":1}}', '{"b":1}')
  spread('{"extra_body":{"model":1},"x":1}', '{"x":1}')
  spread('{"x":1,"extra_body":{}}', '{"x":1}')
  spread('{"x":1,"extra_body":null,"y":2}', '{"x":1,"y":2}')
  const replace = (text: string, expected: string) =>
    t.equal(
      edit(t, text, edits => edits.replaceText(['message', 'model'], 'm')),
      expected
    )
  replace('{"message":{"model":"x"}}', '{"message":{"model":"m"}}')
  replace('{"message":{}}', '{"message":{}}')
  replace('{"model":"x"}', '{"model":"x"}')
})

t.test('a body that parsers may read in two ways, or that is no plain UTF-8, is not edited', async t => {
  const change = (text: string, make: (edits: JsonEdits) => void = edits => edits.set(['model'], 'x')) =>
    edit(t, text, make)
  t.equal(change('{"model":"a","model":"b"}'), undefined)
  t.equal(change('{"mod\\u0065l":"a","model":"b"}'), undefined)
  t.equal(change('{"model":"a","messages":[{"a":{"b":1,"b":2}}]}'), undefined)
  t.equal(
    change('{"model":"a","m":[{"a":1,"a":2}]}', edits => edits.set(['m', 0, 'a'], 3)),
    undefined
  )
  const broken = Buffer.from('{"model":"\xff"}', 'latin1')
  t.equal(editBody(broken, JSON.parse(broken.toString()), new JsonEdits()), undefined)
  t.equal(editBody(Buffer.from('\ufeff{"model":"a"}'), { model: 'a' }, new JsonEdits()), undefined)
})

t.test('bytes without changes are given back', async t => {
  const bytes = Buffer.from(' {"a":[1,{"b":2}]} ')
  const { edited, memberCount } = editJson(bytes, new JsonEdits())
  t.equal(edited, bytes)
  t.equal(memberCount, 2)
})
