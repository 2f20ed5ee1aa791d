// Cases of the bridge contract on where a profile may lead, and on its policies.

import t, { type Test } from 'tap'
import { canonicalDestination } from '../../../shared/net/destination.ts'
import { findDestinationProblem } from '../../../supervisor/profile/destination.ts'
import * as fc from '../../support/properties.ts'
import { createFileInspector, expectRefusal, nativeProfile, SCHEMA_MESSAGE, v2, v3 } from './support.ts'

const inspectFile = createFileInspector(t)

const INVALID = /^Provider profile destination is invalid\.$/
const NOT_PUBLIC = /^Provider profile destination is not public\.$/
const NOT_LOOPBACK = /^Loopback development profiles require an HTTP loopback destination\.$/
const NOT_HTTPS = /^Provider profile destination must use public HTTPS\.$/

const loopback = { allow_loopback: true, network_policy_ref: 'loopback-development' }

/** The document must repeat nothing of the URL. */
function expectDestinationRefusal(t: Test, profile: object, message: RegExp): void {
  const result = inspectFile(v2(profile as Record<string, unknown>))
  t.comment(JSON.stringify(profile))
  expectRefusal(t, result, 'invalid_destination', message)
  t.same(result.warnings, ['The problem is in the profile file: profiles[0].base_url'])
}

t.test('bridge 25: a network policy must exist, and fit the kind of the profile', async t => {
  for (const network_policy_ref of ['public-other', 'public-gemini', 'public-native', 'loopback-development']) {
    const result = inspectFile(v2({ network_policy_ref }))
    expectRefusal(t, result, 'invalid_policy_reference', 'Provider profile references an unknown reviewed policy.')
    t.same(result.warnings, ['The problem is in the profile file: profiles[0].network_policy_ref'])
  }
  const development = { ...loopback, base_url: 'http://127.0.0.1:9/v1' }
  expectRefusal(t, inspectFile(v2({ ...development, network_policy_ref: 'public-openai' })), 'invalid_policy_reference')
  expectRefusal(
    t,
    inspectFile(v2({ ...nativeProfile, network_policy_ref: 'public-openai' })),
    'invalid_policy_reference'
  )
  expectRefusal(t, inspectFile(v2({ network_policy_ref: 'Public-OpenAI' })), 'invalid_profile_schema', SCHEMA_MESSAGE)
})

t.test('bridge 26: a TLS policy must exist', async t => {
  expectRefusal(t, inspectFile(v2({ tls_policy_ref: 'insecure' })), 'invalid_policy_reference')
})

t.test('the destination is checked before the policies, and they before the credential', async t => {
  const wrong = { base_url: 'https://10.0.0.1', tls_policy_ref: 'insecure' }
  expectRefusal(t, inspectFile(v2(wrong), { environment: {} }), 'invalid_destination')
  expectRefusal(t, inspectFile(v2({ tls_policy_ref: 'insecure' }), { environment: {} }), 'invalid_policy_reference')
})

t.test('bridge 27: a public destination uses https', async t => {
  expectDestinationRefusal(t, { base_url: 'http://up.example/v1' }, NOT_HTTPS)
})

t.test('bridge 28: loopback is allowed only when the profile says so', async t => {
  for (const base_url of ['http://127.0.0.1:9/v1', 'http://localhost:9/v1', 'http://[::1]:9', 'http://127.9.9.9']) {
    const { exitCode, document } = inspectFile(v2({ base_url, ...loopback }))
    t.equal(exitCode, 0, base_url)
    t.equal(document.profiles[0].base_url, base_url)
    t.equal(document.profiles[0].allow_loopback, true)
    expectDestinationRefusal(t, { base_url }, NOT_HTTPS)
    expectDestinationRefusal(t, { base_url: base_url.replace('http', 'https') }, NOT_HTTPS)
  }
  expectDestinationRefusal(t, { base_url: 'https://localhost./v1' }, NOT_HTTPS)
  expectDestinationRefusal(t, { base_url: 'http://up.example/v1', ...loopback }, NOT_LOOPBACK)
})

t.test('bridge 29: a loopback profile uses plain http', async t => {
  expectDestinationRefusal(t, { base_url: 'https://127.0.0.1/v1', ...loopback }, NOT_LOOPBACK)
})

t.test('bridge 30: private, link-local, shared and metadata addresses are no destinations', async t => {
  const hosts = [
    ...[
      '169.254.169.254/x',
      '10.0.0.1',
      '[fc00::1]/',
      '[::ffff:10.0.0.1]/',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.0.1'
    ],
    ...['100.64.0.1', '100.100.100.200', '0.0.0.0', '255.255.255.255', '[fe80::1]', '[::]', '[::ffff:127.0.0.1]'],
    ...['[::ffff:a9fe:a9fe]', '[fd00:ec2::254]', '[64:ff9b::a00:1]', '[2002:a00:1::]', '[::10.0.0.1]', '192.0.2.1']
  ]
  for (const host of hosts) {
    expectDestinationRefusal(t, { base_url: `https://${host}` }, NOT_PUBLIC)
    expectDestinationRefusal(t, { base_url: `http://${host}`, ...loopback }, NOT_PUBLIC)
  }
  for (const base_url of ['https://8.8.8.8', 'https://[2606:4700::1111]'])
    t.equal(inspectFile(v2({ base_url })).exitCode, 0)
})

t.test('an IPv6 zone in the host is refused as a destination', async t => {
  for (const host of ['[fe80::1%25eth0]', '[fe80::1%eth0]', '[2606:4700::1111%251]:8443', '[::1%lo]']) {
    expectDestinationRefusal(t, { base_url: `https://${host}/v1` }, INVALID)
    expectDestinationRefusal(t, { base_url: `http://${host}/v1`, ...loopback }, INVALID)
  }
  for (const base_url of ['https://[fe80::1%25eth0', 'https://[up%25eth0]/', 'https://[%25eth0]']) {
    expectRefusal(t, inspectFile(v2({ base_url })), 'invalid_profile_schema', SCHEMA_MESSAGE)
  }
})

t.test('bridge 31: a URL with user, query, fragment, another scheme or a wrong port is refused', async t => {
  const wrong = [
    ...['https://u:p@up.example/v1', 'https://@up.example/v1', 'https://up.example/v1?x=1', 'https://up.example/v1#f'],
    ...['https://up.example/v1?', 'https://up.example/v1#', 'ftp://up.example/v1', 'https://up.example:99999/v1'],
    ...['https://up.example:-1', 'https://up.example:x', 'https://', 'https:///v1', 'up.example', '//up.example', ''],
    ...[
      ' https://up.example',
      'https://up.example ',
      'https://up.exa\tmple',
      'https://up.example/\n',
      'https://up.example/\u0085'
    ],
    ...['https:\\\\up.example', 'https://up.example/a\\b', 'https://up.example/../v1', 'https://up.example/%2E%2e/v1'],
    ...[
      'https://up.example/./v1',
      'https://up.example/v1/..',
      'https://up..example',
      'https://.up.example',
      'https://up.example..'
    ],
    ...[
      'https://up example',
      'https://up%00.example',
      `https://${'a'.repeat(64)}.example`,
      `https://${'a.'.repeat(127)}example`
    ],
    ...['https://256.1.1.1', 'https://1.2.3.4.5', 'https://[::1', `https://up.example/${'a'.repeat(512)}`, 12, null]
  ]
  for (const base_url of wrong) {
    const result = inspectFile(v2({ base_url }))
    expectRefusal(t, result, 'invalid_profile_schema', SCHEMA_MESSAGE)
    t.same(result.warnings, ['The problem is in the profile file: profiles[0].base_url'])
    t.notMatch(result.output, /up\.|99999/)
  }
})

t.test('bridge 32: a base URL is shown in canonical form', async t => {
  for (const [written, canonical] of [
    ['https://UP.Example:443/V1//', 'https://up.example/V1'],
    ['HTTPS://up.example:/', 'https://up.example'],
    ['https://up.example.:8443/v1', 'https://up.example:8443/v1'],
    ['https://b\u00fccher.example/a b', 'https://xn--bcher-kva.example/a%20b'],
    ['https://[2606:4700:0:0::1111]/', 'https://[2606:4700::1111]']
  ] as const) {
    const { exitCode, document } = inspectFile(v2({ base_url: written }))
    t.equal(exitCode, 0, written)
    t.equal(document.profiles[0].base_url, canonical)
  }
})

t.test('bridge 33: numeric spellings, multicast, reserved ranges and local names are refused', async t => {
  const own = ['2130706433', '127.1', '0x7f000001', '0177.0.0.1', '0x7f.1', '017700000001', '127.0.0.1.']
  for (const host of own) {
    expectDestinationRefusal(t, { base_url: `https://${host}/` }, NOT_HTTPS)
    t.equal(
      inspectFile(v2({ base_url: `http://${host}/`, ...loopback })).document.profiles[0].base_url,
      'http://127.0.0.1'
    )
  }
  const others = [
    ...['224.0.0.1', '239.255.255.250', '240.0.0.1', '[ff02::1]', '0xa9fea9fe', '2852039166', '10.1', '0', '0xa.1'],
    ...['a.localhost', 'A.LocalHost.', 'printer.local', 'metadata.google.internal', 'local', 'internal', 'x.home.arpa']
  ]
  for (const host of others) {
    expectDestinationRefusal(t, { base_url: `https://${host}/` }, NOT_PUBLIC)
    expectDestinationRefusal(t, { base_url: `http://${host}/`, ...loopback }, NOT_PUBLIC)
  }
  expectDestinationRefusal(t, { base_url: 'https://up.example:0/' }, INVALID)
  expectDestinationRefusal(t, { base_url: 'http://127.0.0.1:0/', ...loopback }, INVALID)
})

t.test('letters that look like ASCII are mapped before the host is judged', async t => {
  for (const host of [
    '\uff11\uff12\uff17.0.0.1',
    '\u2460\u2461\u2466.0.0.1',
    '127\u30020\u30020\u30021',
    '%31%32%37.0.0.1'
  ]) {
    expectDestinationRefusal(t, { base_url: `https://${host}/` }, NOT_HTTPS)
  }
  for (const host of [
    '\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54',
    '\u217cocalhost',
    'loc\u00adalhost',
    'localho\u017ft'
  ]) {
    expectDestinationRefusal(t, { base_url: `https://${host}/` }, NOT_HTTPS)
  }
  expectDestinationRefusal(t, { base_url: 'https://metadata.google.\u24d8nternal/' }, NOT_PUBLIC)
  // A letter of another script stays another letter, and shows as such.
  const { document } = inspectFile(v2({ base_url: 'https://\u0430pi.example' }))
  t.equal(document.profiles[0].base_url, 'https://xn--pi-6kc.example')
})

t.test('the executors of every kind have the same rules of destination', async t => {
  const kinds = {
    native: 'public-native',
    messages_compatible: 'public-anthropic',
    content_compatible: 'public-gemini'
  }
  for (const [provider_kind, network_policy_ref] of Object.entries(kinds)) {
    t.equal(inspectFile(v3({ provider_kind, network_policy_ref })).exitCode, 0)
    expectRefusal(
      t,
      inspectFile(v3({ provider_kind, network_policy_ref, base_url: 'https://10.0.0.1' })),
      'invalid_destination'
    )
    const development = { provider_kind, ...loopback, base_url: 'http://127.0.0.1:9' }
    t.equal(inspectFile(v3(development)).exitCode, 0)
  }
})

const hostPart = fc.oneof(
  fc.constantFrom(
    'localhost',
    'up',
    'example',
    'internal',
    'local',
    '127',
    '10',
    '0x7f',
    '1',
    '0',
    '\uff11',
    '\u00df',
    '%31',
    ''
  ),
  fc.string({ minLength: 1, maxLength: 6 })
)
const anyHost = fc.oneof(
  fc.ipV4(),
  fc.ipV4Extended(),
  fc.ipV6().map(address => `[${address}]`),
  fc.domain(),
  fc.webAuthority({ withIPv4Extended: true, withIPv6: true, withPort: true, withUserInfo: true }),
  fc.array(hostPart, { maxLength: 5 }).map(parts => parts.join('.'))
)
const anyUrl = fc
  .tuple(
    fc.constantFrom('https://', 'http://', 'HTTPS://', 'https:', 'ftp://', ''),
    anyHost,
    fc.constantFrom('', ':443', ':80', ':0', ':8443', ':99999', ':'),
    fc.oneof(fc.webPath(), fc.constantFrom('', '/', '/V1//', '/a/../b', '?x', '#y'), fc.string())
  )
  .map(parts => parts.join(''))

t.test(
  'a canonical destination is a fixed point, without user, query, fragment, default port or trailing slash',
  async t => {
    let acceptedCount = 0
    fc.assert(
      fc.property(fc.oneof(anyUrl, fc.string()), text => {
        const canonical = canonicalDestination(text)
        if (canonical === undefined) return
        acceptedCount += 1
        if (canonicalDestination(canonical) !== canonical) throw new Error(`no fixed point: ${canonical}`)
        const url = new URL(canonical)
        if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
          throw new Error(canonical)
        if (canonical.endsWith('/') || url.hostname.endsWith('.') || url.hostname === '') throw new Error(canonical)
        if (!/^https?:\/\/[\x21-\x7e]+$/.test(canonical)) throw new Error(canonical)
        const port = url.port === '' ? '' : `:${url.port}`
        if (canonical !== `${url.protocol}//${url.hostname}${port}${url.pathname.replace(/\/$/, '')}`)
          throw new Error(canonical)
      }),
      { numRuns: 3_000 }
    )
    if (fc.areRunsFull) t.ok(acceptedCount > 100, `${acceptedCount} accepted`)
  }
)

t.test(
  'a destination that is accepted without allow_loopback is https and no address of this machine or network',
  async t => {
    let acceptedCount = 0
    fc.assert(
      fc.property(anyUrl, text => {
        const baseUrl = canonicalDestination(text)
        if (baseUrl === undefined) return
        const { protocol, hostname } = new URL(baseUrl)
        if (findDestinationProblem({ baseUrl, allowLoopback: false }, false) === undefined) {
          acceptedCount += 1
          if (protocol !== 'https:' || /^(127|10|0|192\.168|169\.254)\.[.\d]*$/.test(hostname)) throw new Error(baseUrl)
          if (/^\[(::|f[cdef])/.test(hostname) || /(^|\.)(localhost|local|internal)$/.test(hostname))
            throw new Error(baseUrl)
        }
        if (findDestinationProblem({ baseUrl, allowLoopback: true }, false) === undefined) {
          if (!/^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname) || protocol !== 'http:') throw new Error(baseUrl)
        }
      }),
      { numRuns: 3_000 }
    )
    if (fc.areRunsFull) t.ok(acceptedCount > 50, `${acceptedCount} accepted`)
  }
)
