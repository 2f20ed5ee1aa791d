// Profiles of private networks: what their provider gets of a client, and what the log says of a
// destination that is refused (decisions.md 87 and 105, providers.md 1).

import t from 'tap'
import type { ResolveHost } from '../../../worker/providers/egress/checked-lookup.ts'
import { chatProfile, startBridge } from './executor-support.ts'
import { families, send } from './families.ts'
import { writeImageQuestion } from './image-questions.ts'

const answers = new Map<string, string[]>([
  ['rebound.svc', ['169.254.169.254']],
  ['mapped.internal', ['::ffff:a9fe:a9fe']],
  ['translated.lan', ['10.0.0.1', '64:ff9b::a9fe:a9fe']],
  ['shared', ['100.100.100.200']],
  ['own.local', ['127.0.0.1']],
  ['public.corp', ['8.8.8.8']],
  ['none.home.arpa', []]
])
const resolve: ResolveHost = async host => answers.get(host) ?? []

const private_ = { allowLoopback: false, allowPrivate: true, networkPolicyRef: 'private-network' }
const named = Object.fromEntries([...answers.keys()].map((host, index) => [`p${index}`, host]))
const { lines, ...gateway } = await startBridge(t, {
  profiles: [
    ...Object.entries(named).map(([id, host]) =>
      chatProfile(id, `http://${host}:9/v1`, { [`m/${host}`]: 'm' }, private_)
    ),
    chatProfile('literal', 'http://169.254.169.254/v1', { 'm/literal': 'm' }, private_),
    chatProfile('metadata', 'http://metadata.google.internal/v1', { 'm/metadata': 'm' }, private_)
  ],
  kind: { resolve }
})

t.beforeEach(() => {
  lines.length = 0
})

t.test('what a private profile must not reach is 502, and the log names profile and class, no address', async t => {
  const rows: Array<[model: string, found: string]> = [
    ['rebound.svc', 'forbidden'],
    ['mapped.internal', 'forbidden'],
    ['translated.lan', 'forbidden'],
    ['shared', 'forbidden'],
    ['own.local', 'loopback'],
    ['public.corp', 'public'],
    ['none.home.arpa', 'unresolved'],
    ['literal', 'forbidden'],
    ['metadata', 'forbidden']
  ]
  for (const [host, found] of rows) {
    for (const family of families) {
      for (const isStream of [false, true]) {
        const response = await send(gateway.url, family, { model: `m/${host}`, prompt: 'hi', isStream })
        t.equal(response.status, 502, `${family.name} ${host}`)
        const { code, message } = family.readFailure(response)
        t.equal(code, 'destination_mismatch')
        t.match(message, /^The upstream destination could not be authorized\./)
      }
    }
    const failures = lines.splice(0).filter(line => line.event === 'upstream_call_failed')
    t.equal(failures.length, families.length * 2)
    const profile = Object.entries(named).find(([, name]) => name === host)?.[0] ?? host
    for (const line of failures) {
      t.match(line, {
        profile_id: profile,
        error_type: 'destination_refused',
        reason_id: 'destination_mismatch',
        destination_class: found
      })
      const text = JSON.stringify(line)
      for (const address of answers.get(host) ?? []) t.notOk(text.includes(address), `${address} in ${text}`)
    }
  }
})

t.test('a provider of a private network reads no address that it alone may reach (decisions.md 105)', async t => {
  const refused = [
    ...['http://10.0.0.1/a.png', 'http://127.0.0.1/a.png', 'http://169.254.169.254/latest/', 'http://0xa9fea9fe/'],
    ...['http://[fd00:ec2::254]/', 'http://[::ffff:a9fe:a9fe]/', 'http://[64:ff9b::a9fe:a9fe]/', 'http://localhost/'],
    ...[
      'http://metadata.google.internal/computeMetadata/v1/',
      'http://METADATA.google.internal./',
      'file:///etc/passwd'
    ]
  ]
  for (const family of families) {
    for (const url of refused) {
      const question = { model: 'm/rebound.svc', prompt: 'q', more: writeImageQuestion(family, url, false) }
      t.equal((await send(gateway.url, family, question)).status, 400, `${family.name} ${url}`)
    }
    // This wire has no place for the files of that family.
    if (family.name === 'content') continue
    const allowed = {
      model: 'm/rebound.svc',
      prompt: 'q',
      more: writeImageQuestion(family, 'https://a.example/', false)
    }
    t.equal((await send(gateway.url, family, allowed)).status, 502, 'it was on its way to the provider')
  }
})
