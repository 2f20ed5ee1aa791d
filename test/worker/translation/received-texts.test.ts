import t from 'tap'
import { writeJsonBody } from '../../../shared/json.ts'
import { GatewayError, type JsonObject, keepExactIntegers } from '../../../worker/normalized/index.ts'
import { readBodyWithTexts, readJsonObject } from '../../../worker/translation/json-body.ts'
import { writeBody } from '../../../worker/translation/received-texts.ts'
import * as fc from '../../support/properties.ts'

/** Long enough that it is copied. */
const LONG = 2000
const PROSE = 'A sentence of the conversation.\n'
const prose = PROSE.repeat(200)

/** The body that is written for this one, which has its conversation in another form. */
function rewrite(bytes: Buffer, write: (body: JsonObject) => object): string {
  const { body, texts } = readBodyWithTexts(bytes)
  const written = write(body)
  return writeBody(written, texts).toString()
}

const same = (body: JsonObject) => body

/** A client's body with these strings, quotes and escapes included, as its messages. */
function bodyOf(...strings: string[]): Buffer {
  return Buffer.from(`{"messages":[${strings.map(one => `{"role":"user","content":${one}}`).join(',')}]}`)
}

/** A client's JSON of a text: a writer of JSON does not escape a slash, so that one tells a copied text from one that was written anew. */
function writeAsClient(text: string): string {
  return JSON.stringify(text).replaceAll('/', String.raw`\/`)
}

t.test('a long text reaches the written body in the bytes in which the client wrote it', async t => {
  const texts = {
    prose: `a/b ${prose}`,
    Russian: 'Шлюз переводит запросы "точно"/верно.\n'.repeat(300),
    code: 'if (a / 2 > b) return readBody(one, "b")\\c\t{}\n'.repeat(300)
  }
  for (const [name, text] of Object.entries(texts)) {
    const client = writeAsClient(text)
    const written = rewrite(bodyOf(client), ({ messages }) => ({ model: 'x', messages, stream: false }))
    t.equal(written, `{"model":"x","messages":[{"role":"user","content":${client}}],"stream":false}`, name)
  }
})

t.test(
  'a short text, one of many quotes, and those of a body with many short strings before them are written anew',
  async t => {
    const client = writeAsClient(`a/b ${prose}`)
    const dense = ['""', `/${'"a" '.repeat(LONG)}`]
    const names = Array.from({ length: 100 }, (_, index) => `"${index}":"b"`).join(',')
    for (const body of [
      bodyOf(...dense.map(writeAsClient)),
      Buffer.from(`{${names},"text":${client}}`),
      bodyOf(`${client.slice(0, 900)}"`)
    ]) {
      t.equal(rewrite(body, same), JSON.stringify(JSON.parse(body.toString())))
      t.match(body.toString(), String.raw`\/`)
    }
  }
)

t.test('texts are found in another order, at any level that a wire has, and beside other texts', async t => {
  const texts = ['first/', 'second/', 'third/'].map(name => name + prose)
  const strings = texts.map(writeAsClient)
  const [first = '', second = '', third = ''] = strings
  const bytes = Buffer.from(`{"input":[{"text":${first}},{"text":${second}}],"instructions":${third}}`)
  const written = rewrite(bytes, ({ input, instructions }) => {
    const [one, two] = input as JsonObject[]
    const part = { type: 'text', text: two?.text }
    return {
      messages: [instructions, one?.text, { content: [{ content: [part, { text: `${two?.text}!` }] }] }, one?.text]
    }
  })
  t.equal(
    written,
    `{"messages":[${third},${first},{"content":[{"content":[{"type":"text","text":${second}},{"text":${JSON.stringify(`${texts[1]}!`)}}]}]},${first}]}`
  )
})

t.test('the body and the values in it that the client also gets are not changed by writing', async t => {
  const { body, texts } = readBodyWithTexts(bodyOf(JSON.stringify(prose)))
  const before = JSON.stringify(body)
  texts?.writeBody(body)
  t.ok(texts)
  t.equal(JSON.stringify(body), before)
})

t.test('a text that would be longer or harmful in the bytes of the client is written anew', async t => {
  const escaped = `"${String.raw`\u0448`.repeat(LONG)}"`
  t.equal(rewrite(bodyOf(escaped), same), bodyOf(`"${'ш'.repeat(LONG)}"`).toString(), 'each character escaped')
  const lone = `"${'ш'.repeat(LONG)}${String.raw`\ud800`}"`
  t.equal(rewrite(bodyOf(lone), same), bodyOf(`"${'ш'.repeat(LONG)}\ufffd"`).toString(), 'half a surrogate pair')
  const invalid = bodyOf(`"${prose.replaceAll('\n', '')}#"`)
  invalid[invalid.indexOf('#')] = 0xff
  t.equal(rewrite(invalid, same), bodyOf(`"${prose.replaceAll('\n', '')}\ufffd"`).toString(), 'invalid UTF-8')
})

t.test('a text of a member named __proto__ is an own member, of the body and of what is written', async t => {
  const bytes = Buffer.from(`{"a":[{"__proto__":${JSON.stringify(prose)}}],"b":${JSON.stringify(prose)}}`)
  const { body } = readBodyWithTexts(bytes)
  const [first] = body.a as JsonObject[]
  t.ok(Object.hasOwn(first as object, '__proto__'))
  t.equal(rewrite(bytes, same), bytes.toString())
})

t.test('of a member that occurs twice the last value is written', async t => {
  const other = JSON.stringify(`${prose}!`)
  const bytes = Buffer.from(`{"a":${JSON.stringify(prose)},"a":${other}}`)
  t.equal(rewrite(bytes, same), `{"a":${other}}`)
})

t.test('integers that are kept as raw JSON are written as they are beside long texts', async t => {
  const digits = '1'.repeat(309)
  const { big } = JSON.parse(`{"big":${digits}}`) as JsonObject
  t.ok(Number.isFinite(big), 'no integer of more digits is kept')
  const exact = keepExactIntegers(digits, big as number)
  const bytes = bodyOf(`"${digits}"`, JSON.stringify(prose))
  t.equal(
    rewrite(bytes, ({ messages }) => ({ exact, messages })),
    `{"exact":${digits},${bytes.toString().slice(1)}`
  )
})

t.test('invalid JSON around, before and in a long text has the same message as without', async t => {
  const long = JSON.stringify(prose)
  const invalid = [
    `{"a":${long},}`,
    `{"a":${long}`,
    `{"a" ${long}}`,
    `{"a":${long}${long}}`,
    `{"a":"${prose}"}`,
    `{"a":"${prose.replaceAll('\n', String.raw`\x`)}"}`,
    `{"a":"${'x'.repeat(5000)}`,
    `[${long}]`,
    `{"a":${long},"b":${'['.repeat(2000)}${']'.repeat(2000)}}`,
    `{"a":${long},"b":1e400}`,
    `{${long}:1,}`
  ]
  const problemOf = (read: (bytes: Buffer) => unknown, text: string): string => {
    try {
      read(Buffer.from(text))
      return 'accepted'
    } catch (thrown) {
      if (!GatewayError.is(thrown)) throw thrown
      return `${thrown.code} ${thrown.param} ${thrown.message}`
    }
  }
  for (const text of invalid) {
    const problem = problemOf(readJsonObject, text)
    t.not(problem, 'accepted')
    t.equal(problemOf(readBodyWithTexts, text), problem, `${text.slice(0, 12)}…${text.slice(-12)}`)
  }
})

const long = fc.record({
  unit: fc.string({ unit: fc.anyCharacter, minLength: 1, maxLength: 12 }),
  tail: fc.string({ unit: fc.anyCharacter, maxLength: 6 })
})
const longText = long.map(({ unit, tail }) => unit.repeat(Math.ceil(LONG / unit.length)) + tail)
const name = fc.oneof(fc.constantFrom('__proto__', 'content', '1', 'rawJSON'), longText, fc.string())
const { value } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3 },
    longText,
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map(entries => Object.fromEntries(entries))
  )
}))

t.test('any body is read as the parser reads it, and written so that the parser reads the same', async t => {
  let copied = 0
  fc.assert(
    fc.property(fc.dictionary(name, value, { minKeys: 1 }), fc.constantFrom(undefined, 1), (object, space) => {
      // Valid Unicode: half a surrogate pair is read as it is and written as U+FFFD.
      const json = JSON.stringify(object, null, space).toWellFormed()
      const { body, texts } = readBodyWithTexts(Buffer.from(json))
      const parsed = JSON.stringify(JSON.parse(json))
      if (JSON.stringify(body) !== parsed) throw new Error('Another value was read.')
      if (texts === undefined) return
      copied++
      const written = JSON.stringify(JSON.parse(texts.writeBody(body).toString()))
      if (written !== JSON.stringify(JSON.parse(writeJsonBody(body).toString())))
        throw new Error('Another value was written.')
    }),
    { numRuns: 1000 }
  )
  if (fc.areRunsFull) t.ok(copied > 200, `${copied} bodies had a text to copy`)
})
