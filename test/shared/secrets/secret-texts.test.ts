// What is a secret in a text, and what only looks like one (decisions.md 104).
import t from 'tap'
import { createRedactor } from '../../../shared/secrets/redaction.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../support/growth.ts'
import * as fc from '../../support/properties.ts'

const { redactText, redactValue } = createRedactor()

/** Characters in the alphabet of a token that no word has; assembled here, so that no scanner takes this file for a leak. */
const fill = (length: number, alphabet = 'Ab3dE5gH7jK9') =>
  alphabet.repeat(Math.ceil(length / alphabet.length)).slice(0, length)
const hex = (length: number) => fill(length, '0a1b2c3d4e5f')
const upper = (length: number) => fill(length, 'IOSFODNN7EXAMPLE')

const TOKENS: Readonly<Record<string, string>> = {
  'AWS key id': `AKIA${upper(16)}`,
  'AWS temporary key id': `ASIA${fill(16, 'A1B8C9D0')}`,
  'AWS Bedrock key': `ABSK${fill(128)}`,
  'Google API key': `AIza${fill(35)}`,
  'Google express key': `AQ.Ab${fill(40)}`,
  'Google OAuth secret': `GOCSPX-${fill(28)}`,
  'Google access token': `ya29.${fill(60)}`,
  'Google refresh token': `1//0${fill(60)}`,
  'Azure client secret': `abc8Q~${fill(34)}`,
  DigitalOcean: `dop_v1_${hex(64)}`,
  'DigitalOcean OAuth': `doo_v1_${hex(64)}`,
  Alibaba: `LTAI${fill(20)}`,
  Databricks: `dapi${hex(32)}`,
  Vault: `hvs.${fill(90)}`,
  'Yandex Cloud': `t1.${fill(100)}.${fill(86)}`,
  'Yandex OAuth': `y0_${fill(55)}`,
  'GitHub classic': `ghp_${fill(36)}`,
  'GitHub OAuth': `gho_${fill(36)}`,
  'GitHub server': `ghs_${fill(36)}`,
  'GitHub user': `ghu_${fill(36)}`,
  'GitHub refresh': `ghr_${fill(76)}`,
  'GitHub fine-grained': `github_pat_${fill(22)}_${fill(59)}`,
  GitLab: `glpat-${fill(20)}`,
  'GitLab runner': `glrt-${fill(20)}`,
  Atlassian: `ATATT3x${fill(180)}`,
  Bitbucket: `ATBB${fill(32)}`,
  npm: `npm_${fill(36)}`,
  PyPI: `pypi-AgEIcHlwaS5vcmc${fill(140)}`,
  RubyGems: `rubygems_${hex(48)}`,
  Docker: `dckr_pat_${fill(27)}`,
  Cargo: `cio${fill(32)}`,
  NuGet: `oy2${fill(43, 'a1b2c3d4')}`,
  'Slack bot': `xoxb-${'1234567890-'.repeat(2)}${fill(24)}`,
  'Slack user': `xoxp-${'1234567890-'.repeat(3)}${fill(32)}`,
  'Slack app': `xapp-1-A012-${fill(40)}`,
  Discord: `M${fill(25)}.Gabcde.${fill(38)}`,
  Telegram: `123456789:AA${fill(33)}`,
  'Stripe live': `sk_live_${fill(24)}`,
  'Stripe restricted': `rk_live_${fill(24)}`,
  'Stripe test': `sk_test_${fill(24)}`,
  'Stripe webhook': `whsec_${fill(32)}`,
  Square: `sq0atp-${fill(22)}`,
  'Square access token': `EAAA${fill(60)}`,
  Shopify: `shpat_${hex(32)}`,
  SendGrid: `SG.${fill(22)}.${fill(43)}`,
  Twilio: `SK${hex(32)}`,
  Mailgun: `key-${hex(32)}`,
  OpenAI: `sk-proj-${fill(60)}`,
  Anthropic: `sk-ant-api03-${fill(95)}`,
  'Hugging Face': `hf_${fill(34)}`,
  Groq: `gsk_${fill(52)}`,
  xAI: `xai-${fill(80)}`,
  Replicate: `r8_${fill(37)}`,
  Perplexity: `pplx-${fill(48)}`,
  NVIDIA: `nvapi-${fill(64)}`,
  Tavily: `tvly-${fill(32)}`,
  LangSmith: `lsv2_pt_${hex(32)}_${hex(10)}`,
  Grafana: `glsa_${fill(32)}_${hex(8)}`,
  Linear: `lin_api_${fill(40)}`,
  Notion: `ntn_${fill(46)}`,
  'JSON web token': `eyJ${fill(20)}.eyJ${fill(40)}.${fill(43)}`,
  'key of the gateway': `gw-${fill(43)}`
}

t.test('decisions.md 104: tokens of services are masked in any surrounding', t => {
  for (const [name, token] of Object.entries(TOKENS)) {
    for (const [before, after] of [
      ['', ''],
      ['use ', ' now'],
      ['"', '"'],
      ['(', ')'],
      ['https://host.example/x?y=', '&z=1'],
      ['{\\"a\\":\\"', '\\"}'],
      ['a:', ','],
      ['\n', '\n']
    ] as const) {
      const redacted = redactText(`${before}${token}${after}`)
      t.notOk(redacted.includes(token.slice(-6)), `${name} in ${JSON.stringify(before)}: ${redacted}`)
      t.ok(redacted.endsWith(after), `${name} in ${JSON.stringify(before)}: ${redacted}`)
    }
    // A part of a longer word is no token.
    t.ok(redactText(`x${token.slice(0, 8)} y`).includes(token.slice(0, 8)), name)
  }
  t.end()
})

const SECRET = 'hunter2/X+9'

t.test('decisions.md 104: a value behind the name of a secret is masked', t => {
  const rows: readonly string[] = [
    `export GITHUB_TOKEN=${SECRET}`,
    `DB_PASSWORD="${SECRET} and more"`,
    `STRIPE_SECRET=${SECRET} next`,
    `docker run -e ENCRYPTION_KEY=${SECRET} image`,
    `aws_secret_access_key = ${SECRET}`,
    `Access key ID,Secret access key\nAKIA${upper(16)},${fill(40)}`.replace(fill(40), `${SECRET}${fill(29)}`),
    `password: ${SECRET}`,
    `  password: ${SECRET}  # of the database`,
    `- token: "${SECRET} with spaces"`,
    `client_secret: '${SECRET}'`,
    `const apiKey = '${SECRET}'`,
    `APIKey := "${SECRET}"`,
    `{ password: '${SECRET}', user: 'a' }`,
    `{user: a, password: ${SECRET}}`,
    `curl -H 'x-api-key: ${SECRET}' https://host.example`,
    `curl -H "Authorization: Token ${SECRET}" https://host.example`,
    `GET / HTTP/1.1\r\nAuthorization: Basic ${SECRET}\r\nHost: a`,
    `Proxy-Authorization: Digest username="a", response="${SECRET}"`,
    `Authorization: AWS4-HMAC-SHA256 Credential=a, SignedHeaders=b, Signature=${SECRET}`,
    `authorization: ${SECRET}`,
    `Cookie: theme=dark; session=${SECRET}`,
    `log line 5: Set-Cookie: session=${SECRET}; HttpOnly`,
    `postgres://user:${SECRET}@host.example/db`,
    `mongodb+srv://user:p@ss${SECRET}@a.example,b.example/db`,
    `redis://:${SECRET}@host.example:6379/0`,
    `Server=a;User Id=b;Password=${SECRET};Encrypt=true`,
    `Server=a;Uid=b;Pwd=${SECRET};Encrypt=true`,
    `jdbc:oracle:thin:scott/${SECRET}@//host.example:1521/db`,
    `PGPASSWORD=${SECRET} psql -h host.example`,
    `passphrase: ${SECRET}`,
    `API key: ${SECRET}`,
    `access token = "${SECRET}"`,
    `'client_secret' => '${SECRET}',`,
    `mysql --user a --password ${SECRET} --host b`,
    `tool --api-key "${SECRET}"`,
    `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${SECRET};EndpointSuffix=b`,
    `https://a.blob.example/c?sv=1&sp=r&sig=${SECRET}0123456789%3D`,
    `https://a.s3.example/c?X-Amz-Expires=1&X-Amz-Signature=${SECRET}0123456789`,
    `https://hooks.slack.com/services/T000/B000/${SECRET}`,
    `https://discord.com/api/webhooks/123456/${SECRET}`,
    JSON.stringify({ body: `password: ${SECRET}\nnext: 1` }),
    JSON.stringify({ body: JSON.stringify({ request: `Authorization: Basic ${SECRET}\nHost: a` }) }),
    JSON.stringify({ webhookSecret: SECRET, kept: 1 }),
    JSON.stringify({ inner: JSON.stringify({ deploy_token: SECRET }) })
  ]
  for (const row of rows) {
    const redacted = redactText(row)
    t.notOk(/hunter2|X\+9/.test(redacted), redacted)
    t.ok(redacted.includes('***'), redacted)
    t.equal(redactText(redacted), redacted, 'once is enough')
  }
  // What stands around a value stays.
  t.equal(redactText('FOO=1 API_TOKEN=abc BAR=2'), 'FOO=1 API_TOKEN=*** BAR=2')
  t.equal(redactText('{"log":"a\\npassword: abc\\nb"}'), '{"log":"a\\npassword: ***\\nb"}')
  t.equal(redactText('a\nCookie: x=1; y=2\nb'), 'a\nCookie: ***\nb')
  t.equal(redactText("-H 'x-api-key: abc' -v"), "-H 'x-api-key: ***' -v")
  t.equal(redactText('password: "a b" # c'), 'password: "***" # c')
  t.equal(redactText('a --api-key abc --b c'), 'a --api-key *** --b c')
  t.end()
})

t.test('decisions.md 104: keys are masked also where their beginning or their end was cut off', t => {
  const body = `${fill(64)}\n${fill(64)}\n${fill(20)}==\n`
  const begin = '-----BEGIN RSA PRIVATE KEY-----\n'
  const end = '-----END RSA PRIVATE KEY-----'
  for (const [text, expected] of [
    [`a ${begin}${body}${end} b`, 'a *** b'],
    [`a ${begin}${body}`, 'a ***'],
    [`a ${begin}${body.slice(0, 70)}`, 'a ***'],
    [`${body}${end} b`, '*** b'],
    [`${begin}${body}${end}\n${begin}${body}`, '***\n***'],
    [`${begin}${body}${begin}${body}${end} b`, '****** b'],
    [JSON.stringify({ key: `${begin}${body}${end}`, b: 1 }), '{"key":"***","b":1}'],
    [`-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${body}-----END PGP PRIVATE KEY BLOCK-----`, '***']
  ] as const) {
    t.equal(redactText(text), expected)
  }
  t.end()
})

t.test('decisions.md 104: words that only look like secrets are kept', t => {
  const rows: readonly string[] = [
    'max_tokens=5 prompt_tokens=6 total_tokens=7',
    '{"max_tokens":5,"prompt_tokens":6,"completion_tokens":7,"total_tokens":13}',
    '{"prompt_cache_key":"conversation-7","primary_key":"id","public_key":"ssh-ed25519"}',
    'eos_token: </s>',
    'next_page_token=abc',
    'Token: the unit of text that a model reads',
    'Cookie: a small file',
    'Authorization: users must sign in first',
    'Secret: nobody knows it',
    'token: string',
    'password: str, required: bool',
    'const token = await getToken(request)',
    'token = tokens[0]',
    'the password is in the vault',
    'key=value',
    'monkey=banana keyboard=qwerty',
    'tokenizer: o200k_base',
    'keys: [a, b]',
    'pwd=/home/a; cd "$pwd"; export b; pwd',
    'use --password <password> or --api-key $API_KEY, and --token --quiet',
    'Primary key: the one of the table',
    'The API key: where it comes from',
    'sk-learn and task-oriented work',
    'pypi-publish-action-of-this-project',
    'npm_config_registry and npm_lifecycle_event',
    'hf_hub_download',
    'risk-assessment-of-everything-we-do',
    'AKIA is a prefix',
    'https://unpkg.example/react@18.2.0/index.js',
    'http://localhost:3000/@scope/package',
    'http://[::1]:8090/users/@me',
    'mailto:someone@host.example',
    'git@github.example:owner/repository.git',
    '2026-01-05T10:00:00Z',
    'ratio 3:4, 10:AM',
    'a -----BEGIN of a dashed line',
    'sig=5',
    'C:\\new_folder\\readme.txt',
    'Schlüssel: offen'
  ]
  for (const row of rows) t.equal(redactText(row), row)
  t.end()
})

t.test('decisions.md 104: members whose names end in the words of secrets', t => {
  const hidden = [
    'github_token',
    'webhookSecret',
    'DB_PASSWORD',
    'X-Auth-Token',
    'awsSecretAccessKey',
    'APIKey',
    'apikey',
    'proxyAuthorization',
    'aws.secret_key',
    'sessionCookie',
    'userPwd'
  ]
  const shown = [
    'max_tokens',
    'prompt_tokens',
    'total_tokens',
    'maxTokens',
    'prompt_cache_key',
    'promptCacheKey',
    'nextPageToken',
    'token_count',
    'tokenizer',
    'secretary',
    'key',
    'keys',
    'publicKey',
    'api_key_name',
    'api_key_hash',
    'monkey',
    'cost_per_token',
    'time_to_first_token'
  ]
  for (const name of hidden) t.same(redactValue({ [name]: 'hunter2' }), { [name]: '***' }, name)
  for (const name of shown) t.same(redactValue({ [name]: 'kept' }), { [name]: 'kept' }, name)
  // A number or a truth behind such a name is none; behind the plain names of secrets all is.
  t.same(redactValue({ pass_token: true, sort_token: 5, password: 5, x_secret: null, a_secret: { b: 'c' } }), {
    pass_token: true,
    sort_token: 5,
    password: '***',
    x_secret: null,
    a_secret: '***'
  })
  t.same(
    redactValue(JSON.parse('{"__proto__":{"password":"x"},"constructor":"kept"}')),
    JSON.parse('{"__proto__":{"password":"***"},"constructor":"kept"}')
  )
  t.end()
})

/** Texts of the signs and words that the forms are about. */
const pieces = fc.constantFrom(
  ...Object.values(TOKENS),
  ...[
    'password',
    'api_key',
    'FOO_TOKEN',
    'Authorization',
    'Cookie',
    'Bearer',
    'Basic',
    'max_tokens',
    'a',
    'b c',
    '7',
    '***'
  ],
  ...[
    '=',
    ':',
    ': ',
    ' = ',
    ':=',
    '"',
    "'",
    '`',
    '\\',
    '\\"',
    '\\n',
    '\n',
    ' ',
    ',',
    ';',
    '&',
    '{',
    '}',
    '(',
    '@',
    '/',
    '://'
  ],
  ...['-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----', 'data:a/b;base64,AAAA', 'sig=', '#', '//', '?']
)
const texts = fc.array(pieces, { maxLength: 24 }).map(parts => parts.join(''))

t.test('decisions.md 104: redaction of a redacted text changes nothing', t => {
  fc.assert(
    fc.property(texts, text => {
      const once = redactText(text)
      return redactText(once) === once
    })
  )
  t.end()
})

t.test('decisions.md 104: a token is found among any pieces of texts', t => {
  const token = `ghp_${fill(36, 'Zz9Yy8Xx7Ww6')}`
  fc.assert(fc.property(texts, texts, (before, after) => !redactText(`${before} ${token} ${after}`).includes(token)))
  t.end()
})

t.test('decisions.md 104: plain sentences stay as they are', t => {
  const words = fc.constantFrom(
    'the',
    'token',
    'of',
    'a',
    'secret',
    'key',
    'passwords',
    'cookie',
    'is',
    'bear',
    'model',
    '5',
    'and',
    'max_tokens'
  )
  fc.assert(
    fc.property(fc.array(words, { maxLength: 30 }), parts => {
      const text = `${parts.join(' ')}.`
      return redactText(text) === text
    })
  )
  t.end()
})

t.test('decisions.md 104: the time for a hostile text is linear in its length', t => {
  const hostile: Readonly<Record<string, string>> = {
    'line begins': 'token: ',
    'quoted lines': '"token: \'token: ',
    'one kind of quote': "'token: a b",
    'escaped lines': '\\ntoken: a b',
    headers: 'Cookie: a=',
    'headers of words': 'Authorization: a b ',
    assignments: 'a_token="',
    names: 'a_token_',
    'long names': 'x'.repeat(127),
    'cut keys': '-----BEGIN A-----AAAA',
    'ends of keys': 'AAAA-----END A-----',
    'both in turn': '-----END A----------BEGIN A-----',
    'user infos': 'a://b:c',
    'user infos with marks': 'a://b:c@',
    brackets: '{token: a,',
    comments: 'token: # ',
    equals: '=',
    colons: ': ',
    quotes: '"\'`',
    backslashes: '\\',
    base64: 'AAAA',
    'token heads': 'ghp_ sk- AKIA eyJ xoxb- M0 ',
    'Azure heads': '~a8Q~',
    Discord: `M${'a'.repeat(24)}.`,
    signatures: '&sig=a'
  }
  for (const [name, piece] of Object.entries(hostile)) {
    const growth = measureGrowth(4 * 1024, size => {
      const text = piece.repeat(Math.ceil(size / piece.length))
      return () => redactText(text)
    })
    t.ok(growth < LINEAR_GROWTH_MAX, `${name}: ${growth.toFixed(1)} times as long`)
  }
  t.end()
})
