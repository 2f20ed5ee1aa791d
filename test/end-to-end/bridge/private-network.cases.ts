// The cases of `private-network.long.test.ts`, which runs them in a network of their own. Every
// address here belongs to this process, those of clouds too: they are traps, and each connection to
// one is remembered.

import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { FEATURE_NAMES } from '../../../shared/profile/profile.ts'
import { createAuthority } from '../../support/certificates.ts'
import { get, post } from '../../support/client.ts'
import { startForwardProxy } from '../../support/forward-proxy.ts'
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
const PROXY = '10.87.0.20'
const NAME_SERVER = '10.87.0.53'
const PUBLIC = '8.8.8.8'
const TRAPS = [
  ...['169.254.169.254', '169.254.170.2', '169.254.1.1', '100.100.100.200', '192.0.0.192', '168.63.129.16'],
  ...['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:42::42', '64:ff9b::a9fe:a9fe'],
  ...['64:ff9b:1::a9fe:a9fe', 'fd99::a9fe:a9fe', '2002:a9fe:a9fe::1', '203.0.113.9', '198.18.0.9']
]
addAddresses([PROVIDER, PROVIDER_V6, PROXY, NAME_SERVER, PUBLIC, ...TRAPS])

/** The traps that were connected to. */
const reached: string[] = []
/** The paths of what the provider was asked, but for its list of models, which the gateway asks for by itself. */
const asked: string[] = []
const PORT = 8000
const SECURE_PORT = 8443
const authority = createAuthority(t)
const ofProvider = authority.issue({ name: 'provider', hosts: ['DNS:llm.corp', 'DNS:llm.example.com'] })
const ofGateway = authority.issue({ name: 'gateway' })
const stranger = createAuthority(t, 'another authority').issue({ name: 'stranger' })

function respond(request: IncomingMessage, response: ServerResponse): void {
  let text = ''
  request.on('data', piece => {
    text += piece
  })
  request.on('end', () => {
    if (request.method === 'POST') asked.push(request.url ?? '')
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
}

const provider = createHttpServer(respond)
const secureProvider = createTlsServer(
  { key: ofProvider.key, cert: ofProvider.cert, ca: authority.cert, requestCert: true },
  respond
)
const proxy = await startForwardProxy(t, { host: PROXY, credential: 'gateway:secret-of-the-proxy' })
for (const [server, port] of [
  [provider, PORT],
  [secureProvider, SECURE_PORT],
  [createServer(), 80],
  [createServer(), 443]
] as const) {
  server.on('connection', socket => {
    const address = socket.localAddress?.replace(/^::ffff:(?=\d+\.)/, '') ?? ''
    if (address !== PROVIDER && address !== PROVIDER_V6) reached.push(address)
    if (port === 80 || port === 443) socket.destroy()
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
/** The name whose address is another one at each question. */
const FLIPPING = 'flips.example.com'
let questions = 0
function flip(family: 4 | 6): string[] {
  if (family === 6) return []
  questions += 1
  return [questions % 2 === 0 ? '169.254.169.254' : PROVIDER]
}
await startNameServer(t, (name, family) => (name === FLIPPING ? flip(family) : (known[name] ?? [])), {
  host: NAME_SERVER,
  port: 53
})
const folder = createTemporaryFolder(t)
const names = replaceNameFiles(
  folder,
  `nameserver ${NAME_SERVER}\nsearch inference.svc.cluster.local\noptions timeout:1 attempts:1\n`
)
const trapNames = Object.fromEntries(TRAPS.map((address, index) => [`trap-${index}.internal`, [address]]))
const hosts: Record<string, string[]> = {
  'vllm.inference.svc': [PROVIDER],
  'moves.svc': [PROVIDER],
  'llm.corp': [PROVIDER],
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
const refused: Record<string, [url: string, found: string, more?: object]> = {
  own: [`http://own.internal:${PORT}/v1`, 'loopback'],
  mixed: [`http://mixed.example.com:${PORT}/v1`, 'forbidden'],
  public: [`http://public.example.com:${PORT}/v1`, 'public'],
  unknown: [`http://nowhere.internal:${PORT}/v1`, 'unresolved'],
  'trap-as-proxy': [reachable.hosts, 'forbidden', { proxy: 'http://trap-0.internal:80' }],
  'trap-as-proxy-of-environment': [reachable.hosts, 'forbidden', { proxy: 'environment' }],
  ...Object.fromEntries(
    Object.keys(trapNames).map((name, index) => [`trap-${index}`, [`http://${name}/latest`, 'forbidden']])
  )
}

/** The provider with a private certificate that wants one of its clients, and the proxy before it. */
const trusted = { tls_policy_ref: 'private-ca', ca_file: authority.certFile }
const shown = { client_cert_file: ofGateway.certFile, client_key_file: ofGateway.keyFile }
const proxied = { proxy: proxy.url, proxy_credential_env: 'PROXY_CREDENTIAL' }
const secure: Record<string, [more: object, isServed: boolean]> = {
  'secure-straight': [{ ...trusted, ...shown }, true],
  'secure-proxied': [{ ...trusted, ...shown, ...proxied }, true],
  'secure-without-authority': [{ ...shown, ...proxied }, false],
  'secure-without-certificate': [{ ...trusted, ...proxied }, false],
  'secure-as-stranger': [
    { ...trusted, ...proxied, client_cert_file: stranger.certFile, client_key_file: stranger.keyFile },
    false
  ],
  'secure-without-proxy-credential': [{ ...trusted, ...shown, proxy: proxy.url }, false]
}

const profiles = [
  ...Object.entries(secure).map(([id, [more]]) =>
    profileOf(id, `https://llm.corp:${SECURE_PORT}/v1`, { ...privateNetwork, ...more })
  ),
  profileOf('secure-without-policy', `https://llm.example.com:${SECURE_PORT}/v1`, {
    ...{ ...trusted, ...shown },
    ...{ allow_loopback: false, network_policy_ref: 'public-openai' }
  }),
  ...Object.entries(reachable).map(([id, url]) => profileOf(id, url)),
  ...Object.entries(refused).map(([id, [url, , more]]) => profileOf(id, url, { ...privateNetwork, ...more })),
  profileOf('moves', `http://moves.svc:${PORT}/v1`),
  profileOf('flips', `http://${FLIPPING}:${PORT}/v1`),
  ...(['chat_compatible', 'messages_compatible', 'content_compatible'] as const).map(provider_kind =>
    profileOf(`redirect-${provider_kind}`, `http://vllm.inference.svc:${PORT}/redirect/v1`, {
      ...privateNetwork,
      provider_kind
    })
  ),
  profileOf('redirect-inventory', `http://vllm.inference.svc:${PORT}/redirect/v1`, {
    ...privateNetwork,
    model_inventory: 'dynamic',
    public_prefix: 'inventory/',
    default_capabilities: { features: ['chat'], limits: { context_window: 8192 } },
    models: []
  }),
  ...['http://trap-0.internal/token', `http://vllm.inference.svc:${PORT}/redirect/token`].map((token_url, index) =>
    profileOf(`token-${index}`, reachable.hosts, {
      ...privateNetwork,
      auth: { oauth2: { token_url, client_id_env: 'CLIENT_ID', client_secret_env: 'CLIENT_SECRET' } }
    })
  ),
  profileOf('without-policy', `https://llm.example.com:${PORT}/v1`, {
    allow_loopback: false,
    network_policy_ref: 'public-openai'
  })
]

const { process: child, ...started } = await startGateway(t, {
  env: {
    GATEWAY_HOST: ownAddress,
    HTTP_PROXY: 'http://169.254.169.254',
    PROXY_CREDENTIAL: 'gateway:secret-of-the-proxy',
    CLIENT_ID: 'client',
    CLIENT_SECRET: 'secret-of-the-client'
  },
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
  asked.length = 0
})

t.test('the network lets the gateway reach every trap', async t => {
  for (const address of [PUBLIC, ...TRAPS]) {
    t.ok(await canReach(child, address, 80), address)
  }
  t.same(reached, [PUBLIC, ...TRAPS])
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
  t.same(reached, [])
  t.equal(asked.length, 2 * families.length * Object.keys(reachable).length)
})

t.test('providers 2: nothing that no policy allows is reached, by no name', async t => {
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
  t.same(asked, [])
})

t.test(
  'providers 3: a name that moves to a trap between two requests is refused, and works when it is back',
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
    t.same(reached, [])
    t.same(asked, Array(2).fill('/v1/chat/completions'))
  }
)

t.test('providers 3: the address that was checked is the one that is dialed', async t => {
  const statuses = new Set<number>()
  // One after another and many at once.
  for (let round = 0; round < 10; round += 1) statuses.add((await ask('flips')).status)
  for (const { status } of await Promise.all(Array.from({ length: 30 }, () => ask('flips')))) statuses.add(status)
  t.same([...statuses].sort(), [200, 502])
  t.same(reached, [])
})

t.test('a redirect to a trap is not followed for any kind of request', async t => {
  const question = { messages: [{ role: 'user', content: 'hi' }] }
  for (const kind of ['chat_compatible', 'messages_compatible', 'content_compatible']) {
    const model = `m/redirect-${kind}`
    for (const family of families) {
      for (const isStream of [false, true]) {
        const response = await send(gateway.url, family, { model, prompt: 'hi', isStream })
        t.match(family.readFailure(response), { code: 'destination_mismatch' }, `${family.name} ${kind}`)
      }
    }
    for (const [path, body] of [
      ['/v1/embeddings', { model, input: 'hi' }],
      ['/v1/messages/count_tokens', { model, ...question }]
    ] as const) {
      const { status, text } = await post(gateway.url + path, body)
      t.ok([200, 400, 404, 502].includes(status), `${path} ${kind}: ${status} ${text}`)
    }
  }
  const { text } = await get(`${gateway.url}/v1/models`)
  t.notMatch(text, 'inventory/')
  t.same(reached, [])
  t.ok(asked.length >= 24 && asked.every(path => path.startsWith('/redirect/')), asked.join())
})

t.test('a token server that is a trap, or redirects to one, gets nothing', async t => {
  for (const id of ['token-0', 'token-1']) {
    const response = await ask(id)
    t.match({ status: response.status, code: response.json.error.code }, { status: 502, code: 'provider_failure' }, id)
  }
  t.same(reached, [])
  t.same(asked, ['/redirect/token'])
})

t.test('the gateway is no proxy for its clients', async t => {
  const url = new URL(gateway.url)
  for (const line of ['GET http://169.254.169.254/latest/meta-data/ HTTP/1.1', 'CONNECT 169.254.169.254:80 HTTP/1.1']) {
    const socket = connect(Number(url.port), url.hostname)
    socket.end(`${line}\r\nhost: 169.254.169.254\r\nconnection: close\r\n\r\n`)
    t.notMatch(await text(socket), /^HTTP\/1.1 2/, line)
  }
  t.same(reached, [])
})

t.test(
  'a provider with a private authority gets a client certificate, through a proxy that demands a credential',
  async t => {
    for (const [id, [more, isServed]] of Object.entries(secure)) {
      for (const isStream of [false, true]) {
        proxy.seen.length = 0
        const response = await ask(id, isStream)
        t.equal(response.status, isServed ? 200 : 502, `${id}: ${response.text}`)
        t.same(proxy.seen, 'proxy' in more ? [`CONNECT llm.corp:${SECURE_PORT}`] : [], id)
        if (!isServed) t.equal(response.json.error.code, 'provider_failure')
      }
    }
    t.equal(asked.length, 4, 'only where all is right')
  }
)

t.test('without the policy the private address is refused', async t => {
  for (const id of ['without-policy', 'secure-without-policy']) {
    t.match((await ask(id)).json, { error: { code: 'destination_mismatch' } })
    await waitUntil(() => failuresOf(id).length === 1, 'the log has the failure')
    t.match(failuresOf(id), [{ destination_class: 'private' }])
  }
  t.same([...reached, ...asked], [])
})

t.test('a file that names a trap does not start', async t => {
  for (const host of ['169.254.169.254', 'metadata.google.internal']) {
    const config = writeProfileFile(t, [profileOf('trap', `http://${host}/v1`)])
    await t.rejects(startGateway(t, { args: ['--config', config] }), /exited with 2 before it was ready/, host)
  }
  t.same(reached, [])
})
