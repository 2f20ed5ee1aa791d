import t from 'tap'
import { readOutline } from '../../../../../worker/protocols/completions/client/outline.ts'

const messages = '"messages":[{"role":"user","content":"a"}]'

function outline(text: string | Buffer): object | undefined {
  const bytes = Buffer.from(text as string)
  const found = readOutline(bytes)
  if (found === undefined) return undefined
  const { body, model } = found
  const { messages, ...scalars } = body
  t.same(messages, [{ role: 'user', content: 'text' }])
  return { ...scalars, place: bytes.toString('utf8', model.start, model.end) }
}

t.test('a plain body has its scalars and the place of its model', async t => {
  t.same(outline(`{"model":"a",${messages}}`), { model: 'a', place: '"a"' })
  t.same(outline(`\n{ "temperature" : 0.50, ${messages} , "model" :\t"m/ä" }\n`.trimStart()), {
    temperature: 0.5,
    model: 'm/ä',
    place: '"m/ä"'
  })
  const many =
    '"messages":[{"role":"system","content":""},{"content":"\\"\\n\\u00e4😀","role":"user"},{"role":"assistant","content":"{}"}]'
  t.same(outline(`{${many},"stream":false,"model":"a","user":"u","max_tokens":1e2}`), {
    stream: false,
    model: 'a',
    user: 'u',
    max_tokens: 100,
    place: '"a"'
  })
})

t.test('another body is left to the general way', async t => {
  const others = [
    '',
    '[]',
    '{}',
    `{${messages}}`,
    '{"model":"a"}',
    '{"model":"a","messages":[]}',
    '{"model":"a","messages":[{}]}',
    '{"model":"a","messages":[{"role":"user"}]}',
    '{"model":"a","messages":[{"content":"a"}]}',
    '{"model":"a","messages":[{"role":"developer","content":"a"}]}',
    '{"model":"a","messages":[{"role":"tool","content":"a"}]}',
    '{"model":"a","messages":[{"role":"user","content":["a"]}]}',
    '{"model":"a","messages":[{"role":"user","content":null}]}',
    '{"model":"a","messages":[{"role":"user","content":"a","name":"n"}]}',
    '{"model":"a","messages":[{"role":"user","content":"a","content":"b"}]}',
    '{"model":"a","messages":[{"role":"user","role":"user","content":"a"}]}',
    '{"model":"a","messages":[{"r\\u006fle":"user","content":"a"}]}',
    '{"model":"a","messages":[{"role":"user","content":"\\ud83d"}]}',
    '{"model":"a","messages":[{"role":"user","content":"\n"}]}',
    '{"model":"a","messages":[{"role":"user","content":"a"},]}',
    `{"model":"a",${messages},}`,
    `{"model":"a",${messages}}}`,
    `{"model":"a",${messages}`,
    `{"model":"a",${messages},${messages}}`,
    `{"model":"a","model":"b",${messages}}`,
    `{"model":"\\u0061",${messages}}`,
    `{"model":7,${messages}}`,
    `{"model":"a",${messages},"tools":[]}`,
    `{"model":"a",${messages},"temperature":null}`,
    `{"model":"a",${messages},"temperature":01}`,
    `{"model":"a",${messages},"temperature":1e400}`,
    `{"model":"a",${messages},"__proto__":1}`,
    `{"model":"a",${messages},"toString":1,"toString":2}`,
    `\ufeff{"model":"a",${messages}}`,
    ` {"model":"a",${messages}}`
  ]
  for (const text of others) t.equal(outline(text), undefined, JSON.stringify(text))
  t.equal(outline(Buffer.from(`{"model":"a\xff",${messages}}`, 'latin1')), undefined, 'broken UTF-8')
  const many = Array.from({ length: 40 }, (_, index) => `"m${index}":1`).join()
  t.equal(outline(`{"model":"a",${messages},${many}}`), undefined, 'many members')
  const long = Array.from({ length: 20_001 }, () => '{"role":"user","content":""}').join()
  t.equal(outline(`{"model":"a","messages":[${long}]}`), undefined, 'many messages')
})
