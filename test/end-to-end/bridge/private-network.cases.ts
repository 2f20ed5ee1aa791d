// The cases of `private-network.long.test.ts`, which runs them in a network of their own. Every
// address here belongs to this process, those of clouds too: they are traps, and whoever connects to
// one is remembered.

import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import t from 'tap'
import { FEATURE_NAMES } from '../../../shared/profile.ts'
import { post } from '../../support/client.ts'
import { readLog, startGateway } from '../../support/gateway.ts'
import { startNameServer } from '../../support/name-server.ts'
import {
  addAddresses,
  canReach,
  connectCable,
  ownAddress,
  ownNamespace,
  replaceNameFiles
} from '../../support/network-namespace.ts'
import { waitUntil } from '../../support/processes.ts'
import { writeChatProfile, writeProfileFile } from '../../support/profile-gateway.ts'
import { createTemporaryFolder } from '../../support/temporary.ts'
import { chatAnswer, chunkOf } from './executor-support.ts'
import { families, send } from './families.ts'

const PROVIDER = '10.87.0.10'
const PROVIDER_V6 = 'fd00:87::10'
const NAME_SERVER = '10.87.0.53'
const PUBLIC = '8.8.8.8'
const TRAPS = [
  ...['169.254.169.254', '169.254.170.2', '169.254.1.1', '100.100.100.200', '192.0.0.192', '168.63.129.16'],
  ...['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:42::42', '64:ff9b::a9fe:a9fe'],
  ...['64:ff9b:1::a9fe:a9fe', 'fd99::a9fe:a9fe', '2002:a9fe:a9fe::1', '203.0.113.9', '198.18.0.9']
]
addAddresses([PROVIDER, PROVIDER_V6, NAME_SERVER, PUBLIC, ...TRAPS])

/** Everything that connected, by the address that it connected to. */
const reached: string[] = []
const PORT = 8000
const provider = createHttpServer((request, response) => {
  let text = ''
  request.on('data', piece => {
    text += piece
  })
  request.on('end', () => {
    // Each request is a connection of its own, so that each is checked.
    response.setHeader('connection', 'close')
    if (request.url?.startsWith('/redirect/')) {
      response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data/' }).end()
    } else if (JSON.parse(text).stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const chunks = [chunkOf({ role: 'assistant', content: 'ok' }), chunkOf({}, 'stop')]
      response.end(`${chunks.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`)
    } else {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chatAnswer('ok')))
    }
  })
})
for (const [server, port] of [
  [provider, PORT],
  [createServer(), 80],
  [createServer(), 443]
] as const) {
  server.on('connection', socket => {
    reached.push(socket.localAddress?.replace(/^::ffff:(?=\d+\.)/, '') ?? '')
    if (server !== provider) socket.destroy()
  })
  await new Promise<void>(resolve => server.listen(port, '::', resolve))
  t.teardown(() => server.close())
}

/** Names of the name server; those of the hosts file are below. */
const known: Record<string, string[]> = {
  'coder.inference.svc.cluster.local': [PROVIDER],
  'llm.example.com': [PROVIDER],
  'public.example.com': [PUBLIC],
  'mixed.example.com': [PROVIDER, '169.254.169.254'],
  'v6.example.com': [PROVIDER_V6]
}
await startNameServer(t, name => known[name] ?? [], { host: NAME_SERVER, port: 53 })
const folder = createTemporaryFolder(t)
const names = replaceNameFiles(
  folder,
  `nameserver ${NAME_SERVER}\nsearch inference.svc.cluster.local\noptions timeout:1 attempts:1\n`
)
const trapNames = Object.fromEntries(TRAPS.map((address, index) => [`trap-${index}.internal`, [address]]))
const hosts: Record<string, string[]> = {
  'vllm.inference.svc': [PROVIDER],
  'moves.svc': [PROVIDER],
  'own.internal': ['127.0.0.1'],
  'metadata.google.internal': [PROVIDER],
  ...trapNames
}
names.writeHosts(hosts)

const privateNetwork = { allow_loopback: false, allow_private: true, network_policy_ref: 'private-network' }

/** A profile whose alias is `m/` and its id. */
const profileOf = (id: string, baseUrl: string, more: object = privateNetwork): object =>
  writeChatProfile({ id, baseUrl, aliases: [{ alias: `m/${id}`, features: FEATURE_NAMES }], more })

const reachable = {
  address: `http://${PROVIDER}:${PORT}/v1`,
  'address-v6': `http://[${PROVIDER_V6}]:${PORT}/v1`,
  hosts: `http://vllm.inference.svc:${PORT}/v1`,
  search: `http://coder:${PORT}/v1`,
  company: `http://llm.example.com:${PORT}/v1`,
  'company-v6': `http://v6.example.com:${PORT}/v1`
}
const refused: Record<string, [url: string, found: string]> = {
  own: [`http://own.internal:${PORT}/v1`, 'loopback'],
  mixed: [`http://mixed.example.com:${PORT}/v1`, 'forbidden'],
  public: [`http://public.example.com:${PORT}/v1`, 'public'],
  unknown: [`http://nowhere.internal:${PORT}/v1`, 'unresolved'],
  ...Object.fromEntries(
    Object.keys(trapNames).map((name, index) => [`trap-${index}`, [`http://${name}/latest`, 'forbidden']])
  )
}

const profiles = [
  ...Object.entries(reachable).map(([id, url]) => profileOf(id, url)),
  ...Object.entries(refused).map(([id, [url]]) => profileOf(id, url)),
  profileOf('moves', `http://moves.svc:${PORT}/v1`),
  profileOf('redirect', `http://vllm.inference.svc:${PORT}/redirect/v1`),
  profileOf('without-policy', `https://llm.example.com:${PORT}/v1`, {
    allow_loopback: false,
    network_policy_ref: 'public-openai'
  })
]

const { process: child, ...started } = await startGateway(t, {
  env: { GATEWAY_HOST: ownAddress },
  args: ['--config', writeProfileFile(t, profiles)],
  launcher: ownNamespace,
  onSpawned: launched => void connectCable(launched)
})
const gateway = { ...started, url: started.url.replace('127.0.0.1', ownAddress) }

const ask = (id: string, isStream = false) =>
  post(`${gateway.url}/v1/chat/completions`, {
    model: `m/${id}`,
    messages: [{ role: 'user', content: 'hi' }],
    stream: isStream
  })

const failuresOf = (id: string) =>
  readLog(gateway).filter(line => line.event === 'upstream_call_failed' && line.profile_id === id)

t.beforeEach(() => {
  reached.length = 0
})

t.test('the network lets the gateway reach every trap', async t => {
  for (const address of [PROVIDER, PUBLIC, ...TRAPS]) {
    t.ok(await canReach(child, address, 80), address)
  }
  t.same(reached, [PROVIDER, PUBLIC, ...TRAPS])
})

t.test('providers of a private network are reached by address, hosts file, search domain and name server', async t => {
  for (const id of Object.keys(reachable)) {
    for (const family of families) {
      for (const isStream of [false, true]) {
        const response = await send(gateway.url, family, { model: `m/${id}`, prompt: 'hi', isStream })
        t.equal(response.status, 200, `${family.name} ${id}: ${response.text}`)
        t.match(response.text, 'ok')
      }
    }
  }
  t.ok(
    reached.every(address => address === PROVIDER || address === PROVIDER_V6),
    reached.join()
  )
})

t.test('nothing that no policy allows is reached, by no name', async t => {
  for (const [id, [, found]] of Object.entries(refused)) {
    for (const isStream of [false, true]) {
      const response = await ask(id, isStream)
      t.equal(response.status, 502, `${id}: ${response.text}`)
      t.equal(response.json?.error.code, 'destination_mismatch')
    }
    await waitUntil(() => failuresOf(id).length === 2, `the log has the failures of ${id}`)
    t.match(failuresOf(id), Array(2).fill({ error_type: 'destination_refused', destination_class: found }))
  }
  t.same(reached, [])
})

t.test(
  'a name that moves to a trap between two requests is refused (rebinding), and works when it is back',
  async t => {
    t.equal((await ask('moves')).status, 200)
    for (const address of ['169.254.169.254', 'fd00:ec2::254', '127.0.0.1', PUBLIC]) {
      names.writeHosts({ ...hosts, 'moves.svc': [address] })
      t.equal((await ask('moves')).status, 502, address)
      names.writeHosts({ ...hosts, 'moves.svc': [PROVIDER, address] })
      t.equal((await ask('moves')).status, 502, `beside ${address}`)
    }
    names.writeHosts(hosts)
    t.equal((await ask('moves')).status, 200)
    t.same(reached, [PROVIDER, PROVIDER])
  }
)

t.test('a redirect to a trap is not followed', async t => {
  for (const isStream of [false, true]) {
    const response = await ask('redirect', isStream)
    t.match({ status: response.status, code: response.json.error.code }, { status: 502, code: 'destination_mismatch' })
  }
  t.same(reached, [PROVIDER, PROVIDER])
})

t.test('without the policy the private address is refused', async t => {
  t.match((await ask('without-policy')).json, { error: { code: 'destination_mismatch' } })
  await waitUntil(() => failuresOf('without-policy').length === 1, 'the log has the failure')
  t.match(failuresOf('without-policy'), [{ destination_class: 'private' }])
  t.same(reached, [])
})

t.test('a file that names a trap does not start', async t => {
  for (const host of ['169.254.169.254', 'metadata.google.internal']) {
    const config = writeProfileFile(t, [profileOf('trap', `http://${host}/v1`)])
    await t.rejects(startGateway(t, { args: ['--config', config] }), /exited with 2 before it was ready/, host)
  }
  t.same(reached, [])
})
