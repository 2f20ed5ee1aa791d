import t from 'tap'
import {
  boundText,
  type CapturedBody,
  type CaptureRules,
  writeCapturedBody
} from '../../../worker/translation/captured-body.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../support/growth.ts'
import * as fc from '../../support/properties.ts'

const RULES: CaptureRules = { isRedacted: true, extraKeys: [], knownSecrets: ['known-secret-1'], bytesMax: 1000 }

function write(text: string, { isCut = false, keepsText = true } = {}): unknown {
  const { body } = writeCapturedBody({ bytes: Buffer.from(text), isCut, keepsText, rules: RULES })
  return body === '' ? undefined : JSON.parse(body)
}

t.test('JSON is stored as a value, other text as text where it is wanted', async t => {
  t.same(write('{"a":[1,true,null,"x"]}'), { a: [1, true, null, 'x'] })
  t.equal(write('no JSON, Bearer abc'), 'no JSON, Bearer ***')
  t.equal(write('no JSON', { keepsText: false }), undefined)
  t.equal(write(''), undefined)
})

t.test('a cut body is text in its wrapper, and does not end inside of a secret', async t => {
  const text = `{"password":"hunter2","rest":"${'x '.repeat(2000)} sk-0123456789abcdef`
  const written = write(text, { isCut: true }) as { truncated: boolean; max_bytes: number; body: string }
  t.match(written, { truncated: true, max_bytes: 1000 })
  t.match(written.body, /"password": "\*\*\*"/)
  t.notMatch(written.body, 'sk-')
})

t.test('a long text is bounded after it was redacted', async t => {
  const { text } = write(JSON.stringify({ text: `${'y '.repeat(8191)} known-secret-1 ${'z'.repeat(5000)}` })) as {
    text: string
  }
  t.match(text, /\[\d+ more characters\]$/)
  t.notMatch(text, 'known')
  t.equal(boundText(`${'a'.repeat(16_383)}\u{1f600}`).isWellFormed(), true)
})

t.test('the bytes of a file are described by type and size', async t => {
  const data = Buffer.alloc(600, 7).toString('base64')
  t.same(
    write(
      JSON.stringify({
        source: { type: 'base64', media_type: 'image/png', data },
        inlineData: { mimeType: 'audio/wav', data },
        input_audio: { format: 'mp3', data },
        small: { media_type: 'image/png', data: 'iVBORw0KGgo=' },
        plain: { data: 'short', format: 'word' },
        words: { data: 'a text of words '.repeat(30) }
      })
    ),
    {
      source: { type: 'base64', media_type: 'image/png', data: '[image/png;base64 600 bytes]' },
      inlineData: { mimeType: 'audio/wav', data: '[audio/wav;base64 600 bytes]' },
      input_audio: { format: 'mp3', data: '[mp3;base64 600 bytes]' },
      small: { media_type: 'image/png', data: '[image/png;base64 8 bytes]' },
      plain: { data: 'short', format: 'word' },
      words: { data: 'a text of words '.repeat(30) }
    }
  )
})

t.test('it is known whether a body was shortened; masked secrets do not count', async t => {
  const isShortened = (value: unknown, options: Partial<CapturedBody> = {}) =>
    writeCapturedBody({
      bytes: Buffer.from(JSON.stringify(value)),
      isCut: false,
      keepsText: true,
      rules: RULES,
      ...options
    }).isShortened
  const url = `data:image/png;base64,${Buffer.alloc(60, 7).toString('base64')}`
  let deep: unknown = 1
  for (let depth = 0; depth < 200; depth += 1) deep = [deep]
  for (const [name, value] of Object.entries({
    'a long text': ['x'.repeat(16 * 1024 + 1)],
    'a file': { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
    'a data URL': { image_url: { url } },
    'a deep value': deep
  })) {
    t.equal(isShortened(value), true, name)
  }
  t.equal(isShortened({ token: 'x', text: `Bearer abc, ${'y'.repeat(16_000)}`, words: 'data: none' }), false)
  t.equal(isShortened({ url }, { rules: { ...RULES, isRedacted: false } }), false)
  t.equal(isShortened({}, { isCut: true }), true)
})

t.test('names of members are redacted, and none becomes a prototype', async t => {
  const written = write('{"__proto__":{"token":"a"},"sk-0123456789abcdef":1}') as object
  t.same(Object.keys(written), ['__proto__', '***'])
  t.same(Object.getOwnPropertyDescriptor(written, '__proto__')?.value, { token: '***' })
})

t.test('a secret is never stored, in a body of any form', async t => {
  const secret = fc.constantFrom('known-secret-1', 'sk-0123456789abcdef', 'Bearer c4n4ry-1', 'password=c4n4ry-2')
  fc.assert(
    fc.property(fc.json(), secret, fc.string(), fc.boolean(), (json, planted, text, isCut) => {
      const body = JSON.stringify({ around: JSON.parse(json), text: `${text} ${planted} `, password: { planted } })
      const { body: written } = writeCapturedBody({
        bytes: Buffer.from(body),
        isCut: false,
        keepsText: true,
        rules: RULES
      })
      t.notMatch(written, /known-secret-1|sk-0123456789abcdef|c4n4ry/)
      JSON.parse(written)
      if (isCut) write(body.slice(0, body.length / 2), { isCut: true })
    })
  )
})

t.test('hostile bodies take linear time', async t => {
  const hostile: Record<string, (size: number) => string> = {
    'quotes and keys': size => '"token" : "'.repeat(size / 10),
    backslashes: size => `"token":"${'\\'.repeat(size)}`,
    bearer: size => `Bearer ${' '.repeat(size)}`,
    equals: size => `data:a/b;base64,${'=A'.repeat(size / 2)}`,
    'deep arrays': size => `${'['.repeat(size / 2)}${']'.repeat(size / 2)}`,
    members: size => `{${Array.from({ length: size / 20 }, (_, index) => `"member${index}":"v"`).join(',')}}`
  }
  for (const [name, make] of Object.entries(hostile)) {
    const growth = measureGrowth(32_000, size => {
      const text = make(size)
      const bytes = Buffer.from(name === 'members' || name === 'deep arrays' ? text : JSON.stringify({ text }))
      return () => writeCapturedBody({ bytes, isCut: false, keepsText: true, rules: RULES })
    })
    t.ok(growth <= LINEAR_GROWTH_MAX, `${name}: eight times the body takes ${growth.toFixed(1)} times as long`)
  }
})
