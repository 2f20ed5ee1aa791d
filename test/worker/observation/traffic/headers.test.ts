import t from 'tap'
import { createRedactor } from '../../../../shared/secrets/redaction.ts'
import { redactHeaders } from '../../../../worker/observation/traffic/headers.ts'

t.test('only known headers show their value, and that is redacted', async t => {
  const redactor = createRedactor({ extraKeys: ['x-app'] })
  t.same(
    redactHeaders(
      {
        'user-agent': 'tool/1.0 Bearer abc',
        'x-stainless-lang': 'js',
        'content-type': 'application/json',
        'x-app': 'an extra key',
        'x-unknown': 'anything',
        'set-cookie': ['a=b'],
        'sk-0123456789abcdef': '1'
      },
      redactor
    ),
    {
      'user-agent': 'tool/1.0 Bearer ***',
      'x-stainless-lang': 'js',
      'content-type': 'application/json',
      'x-app': '***',
      'x-unknown': '***',
      'set-cookie': '***',
      '***': '***'
    }
  )
})
