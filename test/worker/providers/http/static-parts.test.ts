import t from 'tap'
import { Secret } from '../../../../shared/secrets/secret.ts'
import {
  addStaticHeaders,
  addStaticQuery,
  listStaticSecrets,
  readStaticParts
} from '../../../../worker/providers/http/static-parts.ts'

const readSecret = (name: string) => (name === 'ORG_ID' ? new Secret('org-1234567890') : undefined)
const none = () => undefined

function partsOf(members: Parameters<typeof readStaticParts>[0]) {
  const parts = readStaticParts(members, readSecret)
  if (parts === undefined) throw new Error('The profile has static parts.')
  return parts
}

t.test('headers stand behind those of the call, and in place of those with the same name', async t => {
  const parts = partsOf({
    headers: { 'x-team': 'research', 'X-Org': { env: 'ORG_ID' }, 'Anthropic-Version': '2024-01-01' }
  })
  t.strictSame(
    addStaticHeaders(parts, [
      'user-agent',
      'gateway',
      'X-TEAM',
      'client',
      'anthropic-version',
      '2023-06-01',
      'accept',
      '*/*'
    ]),
    [
      'user-agent',
      'gateway',
      'accept',
      '*/*',
      'x-team',
      'research',
      'X-Org',
      'org-1234567890',
      'Anthropic-Version',
      '2024-01-01'
    ]
  )
  const agent = partsOf({ headers: { 'x-team': 'a', 'User-Agent': 'corp/1' } })
  t.strictSame(addStaticHeaders(agent, ['user-agent', 'gateway', 'accept', '*/*']), [
    'User-Agent',
    'corp/1',
    'accept',
    '*/*',
    'x-team',
    'a'
  ])
})

t.test('parameters are encoded, and stand in place of those with the same name', async t => {
  const parts = partsOf({ query: { 'api-version': '2026-10-01', 'a+b': 'c&d é', org: { env: 'ORG_ID' } } })
  const own = 'api-version=2026-10-01&a%2Bb=c%26d%20%C3%A9&org=org-1234567890'
  t.equal(addStaticQuery(parts, '/v1/chat'), `/v1/chat?${own}`)
  t.equal(addStaticQuery(parts, '/v1/chat?alt=sse&api%2Dversion=1&org='), `/v1/chat?alt=sse&${own}`)
  t.equal(addStaticQuery(partsOf({ headers: { a: 'b' } }), '/v1?x=1'), '/v1?x=1')
})

t.test('values of variables are secrets, and a profile without values has no parts', async t => {
  const members = { headers: { a: 'plain', b: { env: 'ORG_ID' } }, query: { c: { env: 'MISSING' }, d: 'text' } }
  t.strictSame(listStaticSecrets(members, readSecret), ['org-1234567890'])
  t.equal(readStaticParts({}, readSecret), undefined)
  t.equal(readStaticParts({ headers: { b: { env: 'ORG_ID' } } }, none), undefined)
})
