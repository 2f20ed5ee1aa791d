import t from 'tap'
import { createWarningLimiter } from '../../../shared/logging/warning-limiter.ts'
import { createRedactor } from '../../../shared/secrets/redaction.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../support/growth.ts'
import * as fc from '../../support/properties.ts'

const redactor = createRedactor()

t.test('operations 108: the published text forms are masked as documented', async t => {
  const cases: Array<[string, string]> = [
    ['{"api_key": "abc"}', '{"api_key": "***"}'],
    ['{"api_key":"a\\"bc","n":1}', '{"api_key": "***","n":1}'],
    ['password=hunter2&x=1', 'password=***&x=1'],
    ['Bearer q', 'Bearer ***'],
    ['authorization=Bearer abc', 'authorization=*** ***'],
    ['{"token": 5, "token": null}', '{"token": 5, "token": null}'],
    ['my_api_key=zz', 'my_api_key=***'],
    ['x-api-key=abc;y', 'x-api-key=***;y'],
    ['ACCESS-TOKEN=abc', 'ACCESS-TOKEN=***'],
    ['max_tokens=5', 'max_tokens=5'],
    ['bearer of news', 'Bearer *** news'],
    ['nothing to hide', 'nothing to hide']
  ]
  for (const [text, expected] of cases) t.equal(redactor.redactText(text), expected)
})

t.test('texts with the shape of a token or key are masked in any position', async t => {
  const secrets = [
    'upstream-cred-QmFzZTY0:SCOPE',
    'upstream-auth-abc',
    'upstream-user-a:b',
    'eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ',
    'sk-proj-0123456789abcdef',
    'AIzaSyA-0123456789abcdefghij',
    '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----'
  ]
  for (const secret of secrets) {
    const redacted = redactor.redactText(`failed for ${secret} today`)
    t.notMatch(redacted, secret.slice(-6))
    t.match(redacted, /failed for .*\*\*\* today/)
  }
  t.equal(redactor.redactText('at https://user:pass@host.example/x'), 'at https://***@host.example/x')
})

t.test('an inline image is replaced by its type and size', async t => {
  const data = Buffer.alloc(300, 7).toString('base64')
  t.equal(redactor.redactText(`url data:image/png;base64,${data} end`), 'url [image/png;base64 300 bytes] end')
})

t.test('a sensitive member of any type is replaced whole, and the other members are redacted inside', async t => {
  const value = {
    ' X_API-KEY ': { nested: 'a' },
    'Set-Cookie': ['a'],
    password: 5,
    tokens: 3,
    max_tokens: 4,
    flag: true,
    nothing: null,
    list: [{ secret: 'a' }, 'Bearer abc', 1],
    bytes: Buffer.from('abc')
  }
  t.same(redactor.redactValue(value), {
    ' X_API-KEY ': '***',
    'Set-Cookie': '***',
    password: '***',
    tokens: 3,
    max_tokens: 4,
    flag: true,
    nothing: null,
    list: [{ secret: '***' }, 'Bearer ***', 1],
    bytes: '[binary 3 bytes]'
  })
  t.equal(value.password, 5, 'the given value is not changed')
})

t.test('extra keys are masked under either spelling', async t => {
  const extra = createRedactor({ extraKeys: ['customer_token'] })
  t.same(extra.redactValue({ 'Customer-Token': 'a' }), { 'Customer-Token': '***' })
  t.equal(extra.redactText('customer-token=abc'), 'customer-token=***')
})

t.test('a cyclic value does not exhaust the stack', async t => {
  const value: Record<string, unknown> = {}
  value.self = value
  t.match(JSON.stringify(redactor.redactValue(value)), /too deep/)
})

t.test('a short known secret is masked only as a separate word', async t => {
  const known = createRedactor({ knownSecrets: ['k1', 'a-longer-secret', ''] })
  t.equal(known.redactText('k1 in k12 and xa-longer-secretx'), '*** in k12 and x***x')
})

t.test('a quoted value of a sensitive key is masked for any content and any surrounding text', async t => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), fc.nat({ max: 4 }), (before, middle, after, depth) => {
      let text = JSON.stringify({ before, password: `hunter2${middle}hunter2`, after: 'kept' })
      for (let level = 0; level < depth; level += 1) text = JSON.stringify({ before, inner: text, after })
      const redacted = redactor.redactText(text)
      t.notMatch(redacted, /hunter2/)
      t.match(redacted, /kept/)
    })
  )
})

t.test('a value that was cut off is masked up to the end of the text, and an empty value is kept', async t => {
  t.equal(redactor.redactText('{"a":1,"password":"hunt'), '{"a":1,"password": "***')
  t.equal(redactor.redactText('{"password":"","a":"b"}'), '{"password":"","a":"b"}')
})

t.test('the time for a hostile text is linear in its length', async t => {
  const hostile: Record<string, (size: number) => string> = {
    'an escaped value': size => `"password": "${'\\'.repeat(size)}`,
    escapes: size => '\\'.repeat(size),
    'a name and spaces': size => `"password"${' '.repeat(size)}`,
    names: size => '"password":'.repeat(size / 11),
    'key heads': size => '-----BEGIN A-----'.repeat(size / 17),
    'token heads': size => 'eyJaaaaaa-'.repeat(size / 10),
    dots: size => 'a.'.repeat(size / 2),
    'a scheme and spaces': size => `Bearer${' '.repeat(size)}`,
    assignments: size => 'password="'.repeat(size / 10),
    'data addresses': size => 'data:a/a;base64,'.repeat(size / 16),
    'address heads': size => 'x://'.repeat(size / 4)
  }
  for (const [name, write] of Object.entries(hostile)) {
    const growth = measureGrowth(16 * 1024, size => {
      const text = write(size)
      return () => redactor.redactText(text)
    })
    t.ok(growth < LINEAR_GROWTH_MAX, `${name}: ${growth.toFixed(1)} times as long`)
  }
})

t.test('from the eleventh on, equal warnings within a second are suppressed and counted', async t => {
  const limiter = createWarningLimiter()
  const admitted = Array.from({ length: 12 }, () => limiter.admit('a', 0))
  t.equal(admitted.filter(Boolean).length, 10)
  t.equal(limiter.admit('b', 0), true)
  t.same(limiter.takeSuppressed(999), [])
  t.same(limiter.takeSuppressed(1000), [{ text: 'a', count: 2 }])
  t.same(limiter.takeSuppressed(1000), [])
  t.equal(limiter.admit('a', 1000), true)
})

t.test('the limiter tracks a bounded number of texts', async t => {
  const limiter = createWarningLimiter()
  for (let count = 0; count < 12; count += 1) limiter.admit('first', 0)
  for (let index = 0; index < 300; index += 1) t.ok(limiter.admit(`text ${index}`, 0))
  t.same(limiter.takeSuppressed(0), [{ text: 'first', count: 2 }])
})

t.test('known secrets are found in JSON text and in URLs too', async t => {
  const secret = 'qu"ote\\ and späce'
  const known = createRedactor({ knownSecrets: [secret] })
  for (const text of [secret, JSON.stringify({ secret }), `https://host.example/${encodeURIComponent(secret)}`]) {
    t.equal(known.redactText(`a ${text} b`).includes('ote'), false)
  }
})

t.test('a known secret is found in a URL, whichever of its other characters are encoded', async t => {
  const known = createRedactor({ knownSecrets: ['alice-key/77+ß'] })
  for (const spelling of [
    'alice-key/77+ß',
    'alice%2Dkey/77+ß',
    'alice-key%2f77%2B%C3%9f',
    encodeURIComponent('alice-key/77+ß')
  ]) {
    t.equal(known.redactText(`/v1/models/${spelling}`), '/v1/models/***')
  }
  t.equal(known.redactText('/v1/models/alice%20key'), '/v1/models/alice%20key')
})

t.test('the names of secrets are known in any way to join their words', async t => {
  const redactor = createRedactor()
  for (const name of [
    'apiKey',
    'api_key',
    'API-Key',
    'clientSecret',
    'client_secret',
    'privateKey',
    'idToken',
    'passWord'
  ]) {
    t.equal(redactor.readKey(name).kind, 'secret', name)
    t.equal(redactor.redactText(`{"${name}":"hunter2"}`).includes('hunter2'), false, name)
  }
  for (const name of ['maxTokens', 'max_tokens', 'tokens', 'keyboard', 'api key']) {
    t.equal(redactor.readKey(name).kind, 'plain', name)
  }
})

t.test('data URLs can be left as they are', async t => {
  const url = 'data:image/png;base64,iVBORw0KGgo='
  t.same(createRedactor({ keepsFiles: true }).redactValue({ url, token: 'x' }), { url, token: '***' })
})

t.test('with redaction off only the own secrets are masked', async t => {
  const own = createRedactor({ knownSecrets: ['gateway-key'], onlyOwnSecrets: true })
  const value = { password: 'open gateway-key upstream-auth-abc', note: 'token=x' }
  t.same(own.redactValue(value), { password: 'open *** upstream-auth-***', note: 'token=x' })
  t.same(own.readKey('password'), { kind: 'plain', shown: 'password' })
})

t.test('data URLs with parameters, and hostile padding, are described in linear time', async t => {
  t.equal(redactor.redactText('data:text/plain;charset=utf-8;base64,aGVsbG8='), '[text/plain;base64 5 bytes]')
  const growth = measureGrowth(20_000, size => {
    const text = `data:image/png;base64,${'=A'.repeat(size / 2)}${'='.repeat(size)}A`
    return () => redactor.redactText(text)
  })
  t.ok(growth <= LINEAR_GROWTH_MAX, `eight times the text takes ${growth.toFixed(1)} times as long`)
})
