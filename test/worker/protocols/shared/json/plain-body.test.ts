import t from 'tap'
import { plainContents, plainInput, plainMessages } from '../../../../../worker/protocols/shared/json/plain-body.ts'

const messages = '"messages":[{"role":"user","content":"a"}]'

function outline(text: string | Buffer): object | undefined {
  const bytes = Buffer.from(text as string)
  const found = plainMessages.read(bytes)
  if (found === undefined) return undefined
  const { messages, ...around } = JSON.parse(Buffer.from(found.text, 'latin1').toString())
  t.same(messages, JSON.parse(plainMessages.messages))
  return { ...around, list: bytes.toString('utf8', found.messages.start, found.messages.end) }
}

t.test('a plain body has what stands around its messages, and their place', async t => {
  const list = '[{"role":"user","content":"a"}]'
  t.same(outline(`{"model":"a",${messages}}`), { model: 'a', list })
  t.same(outline(`\n{ "temperature" : 0.50, "messages" :\t ${list} , "model" :\t"m/ä" }\n`.trimStart()), {
    temperature: 0.5,
    model: 'm/ä',
    list
  })
  const many =
    '[ {"role":"system","content":""},{"content":"\\"\\n\\u00e4😀","role":"user"},{"role":"assistant","content":"{}"}]'
  t.same(outline(`{"messages":${many},"stream":false,"model":"\\u0061","user":"u","max_tokens":1e2}`), {
    stream: false,
    model: 'a',
    user: 'u',
    max_tokens: 100,
    list: many
  })
  const tools = [{ type: 'function', function: { name: 'f', parameters: { properties: { a: [1, null, true] } } } }]
  t.same(outline(`{"model":"a",${messages},"tools":${JSON.stringify(tools)},"stop":null,"x":{},"y":[ ]}`), {
    model: 'a',
    tools,
    stop: null,
    x: {},
    y: [],
    list
  })
  const half = '[{"role":"user","content":"\\ud83d"}]'
  t.same(outline(`{"messages":${half}}`), { list: half })
})

t.test('another body is left to the general way', async t => {
  const others = [
    '',
    '[]',
    '{}',
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
    '{"model":"a","messages":[{"role":"user","content":"\n"}]}',
    '{"model":"a","messages":[{"role":"user","content":"a"},]}',
    `{"model":"a",${messages},}`,
    `{"model":"a",${messages}}}`,
    `{"model":"a",${messages}`,
    `{"model":"a",${messages},${messages}}`,
    `{"model":"a","us\\u0065r":"b",${messages}}`,
    `{"model":"a",${messages},"temperature":01}`,
    `\ufeff{"model":"a",${messages}}`,
    ` {"model":"a",${messages}}`
  ]
  for (const text of others) t.equal(outline(text), undefined, JSON.stringify(text))
  t.equal(outline(Buffer.from(`{"model":"a\xff",${messages}}`, 'latin1')), undefined, 'broken UTF-8')
  const many = Array.from({ length: 70 }, (_, index) => `"m${index}":1`).join()
  t.equal(outline(`{"model":"a",${messages},${many}}`), undefined, 'many members')
  t.equal(outline(`{"model":"a",${messages},"x":${'['.repeat(40)}${']'.repeat(40)}}`), undefined, 'deep')
  const around = `"user":"${'u'.repeat(16 * 1024)}"`
  t.equal(outline(`{"model":"a",${messages},${around}}`), undefined, 'much around the messages')
  const long = Array.from({ length: 20_001 }, () => '{"role":"user","content":""}').join()
  t.equal(outline(`{"model":"a","messages":[${long}]}`), undefined, 'many messages')
})

t.test('contents of texts are plain as well', async t => {
  const read = (text: string) => {
    const bytes = Buffer.from(text)
    const found = plainContents.read(bytes)
    return found && [JSON.parse(found.text), bytes.toString('utf8', found.messages.start, found.messages.end)]
  }
  const list = '[{"role":"user","parts":[{"text":"a"} , {"text":"b\\n"}]},{"parts":[{"text":""}],"role":"model"}]'
  const one = JSON.parse(plainContents.messages)
  t.same(read(`{"contents": ${list},"generationConfig":{"topK":40}}`), [
    { contents: one, generationConfig: { topK: 40 } },
    list
  ])
  for (const other of [
    '{"contents":{"role":"user","parts":[{"text":"a"}]}}',
    '{"contents":[{"parts":[{"text":"a"}]}]}',
    '{"contents":[{"role":"user","parts":{"text":"a"}}]}',
    '{"contents":[{"role":"user","parts":[]}]}',
    '{"contents":[{"role":"user","parts":[{}]}]}',
    '{"contents":[{"role":"function","parts":[{"text":"a"}]}]}',
    '{"contents":[{"role":"model","parts":[{"text":"a","thoughtSignature":"x"}]}]}',
    '{"messages":[{"role":"user","content":"a"}]}'
  ]) {
    t.equal(read(other), undefined, other)
  }
})

t.test('an input of texts is plain, and one of items is not', async t => {
  const read = (text: string) => {
    const bytes = Buffer.from(text)
    const found = plainInput.read(bytes)
    return found && [JSON.parse(found.text), bytes.toString('utf8', found.messages.start, found.messages.end)]
  }
  const list = '[{"role":"developer","content":"a"} ,{"content":"b\\n","role":"assistant"}]'
  t.same(read(`{"model":"m","input": ${list},"store":false}`), [
    { model: 'm', input: JSON.parse(plainInput.messages), store: false },
    list
  ])
  for (const other of [
    '{"input":"a"}',
    '{"input":[]}',
    '{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}]}',
    '{"input":[{"type":"message","role":"user","content":"a"}]}',
    '{"input":[{"type":"function_call_output","call_id":"c","output":"a"}]}',
    '{"input":[{"role":"tool","content":"a"}]}',
    '{"messages":[{"role":"user","content":"a"}]}'
  ]) {
    t.equal(read(other), undefined, other)
  }
})
