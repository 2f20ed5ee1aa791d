// A real node of OpenSearch with its security plugin, TLS and users, started by the test itself from the modules that Maven fetches.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { findFreePort } from '../../ops/net/free-port.ts'
import { createAuthority } from './certificates.ts'
import { findProgram, whyWithoutProgram } from './programs.ts'
import { createTemporaryFolder } from './temporary.ts'

const FOLDER = join(import.meta.dirname, 'search-node')
const TARGET = join(FOLDER, 'target')
const PLUGIN = join(TARGET, 'plugins', 'opensearch-security')

/** The reason to skip a test of the node; false where it can run. Maven fetches the modules at the first call. */
export function whyWithoutSearchNode(): string | false {
  const missing = ['java', 'mvn', 'openssl'].map(whyWithoutProgram).find(reason => reason !== false)
  if (missing !== undefined) return missing
  if (existsSync(PLUGIN) && existsSync(join(TARGET, 'libraries'))) return false
  const { status } = spawnSync('mvn', ['--quiet', '--batch-mode', 'package'], { cwd: FOLDER, stdio: 'ignore' })
  return status === 0 ? false : 'Maven cannot fetch the modules of the search server'
}

/** The user of the gateway, with the rights that the guide names. */
export interface SearchUser {
  readonly username: string
  readonly password: string
}

export interface SearchNode extends SearchUser {
  readonly url: string
  /** Of the authority that issued its certificate. */
  readonly certificate: string
  readonly certificateFile: string
  /** Calls the node as its administrator. */
  ask(method: string, path: string, body?: object): Promise<Loose>
  /** Kills the process; `start` runs it again with the same data and port. */
  kill(): Promise<void>
  start(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: answers of the server that tests compare
export type Loose = any

const GATEWAY = { username: 'gateway', password: 'gateway-password' }
const ADMINISTRATOR = { username: 'admin', password: 'admin-password' }
/** What bcrypt makes of the two passwords. */
const HASHES = {
  gateway: '$2y$12$fOmPc/ZKL0zzJxsvYngPCe2tHuRC4OatPH67ICrrZ88wdABaid6xa',
  admin: '$2y$12$CU75T1RDVZoBroJKyJCKv.l1h751mDMpFzwydCRwhoci6z9h967Hm'
}

/** Starts a node that is killed with the test. Its user `gateway` has the rights that the guide names, for these indexes. */
export async function startSearchNode(t: Test, indexes: readonly string[]): Promise<SearchNode> {
  const home = createTemporaryFolder(t)
  const [port, transportPort] = [await findFreePort(), await findFreePort()]
  const authority = createAuthority(t)
  writeHome(home, { port, transportPort })
  const { certFile, keyFile } = authority.issue({ name: 'search-node' })
  for (const [from, to] of [
    [certFile, 'node.pem'],
    [keyFile, 'node.key'],
    [authority.certFile, 'ca.pem']
  ] as const) {
    cpSync(from, join(home, 'config', to))
  }
  writeUsers(join(home, 'config', 'opensearch-security'), indexes)
  const url = `https://127.0.0.1:${port}`
  const ask: SearchNode['ask'] = async (method, path, body) => {
    const { username, password } = ADMINISTRATOR
    const sent = request(`${url}${path}`, {
      method,
      ca: authority.cert,
      auth: `${username}:${password}`,
      headers: { 'content-type': 'application/json' }
    })
    sent.end(body && JSON.stringify(body))
    const [response] = await once(sent, 'response')
    const content = await text(response)
    return { status: response.statusCode, body: content.startsWith('{') ? JSON.parse(content) : content }
  }
  let kill = () => Promise.resolve()
  async function start(): Promise<void> {
    const parameters = [
      '-Xms256m',
      '-Xmx512m',
      '-cp',
      join(TARGET, 'libraries', '*'),
      join(FOLDER, 'SearchNode.java'),
      home
    ]
    const node = spawn(findProgram('java'), parameters, { stdio: ['pipe', 'pipe', 'pipe'] })
    const exited = once(node, 'exit')
    let output = ''
    for (const stream of [node.stdout, node.stderr])
      stream.on('data', data => (output = `${output}${data}`.slice(-4000)))
    kill = async () => {
      node.kill('SIGKILL')
      await exited
    }
    // The plugin stores its users some time after the node has started.
    while (node.exitCode === null) {
      const { status } = await ask('GET', '/').catch(() => ({ status: 0 }))
      if (status === 200) return
      await new Promise(resolve => setTimeout(resolve, 100))
    }
    throw new Error(`The search server did not start: ${output}`)
  }
  t.teardown(() => kill())
  await start()
  return {
    ...GATEWAY,
    url,
    certificate: authority.cert,
    certificateFile: authority.certFile,
    ask,
    start,
    kill: () => kill()
  }
}

function writeHome(home: string, ports: { port: number; transportPort: number }): void {
  for (const name of ['config', 'data', 'logs', 'modules', 'plugins']) mkdirSync(join(home, name))
  symlinkSync(PLUGIN, join(home, 'plugins', 'opensearch-security'))
  cpSync(join(PLUGIN, 'config'), join(home, 'config', 'opensearch-security'), { recursive: true })
  const security = 'plugins.security'
  const files = (layer: string) =>
    [
      `${security}.ssl.${layer}.pemcert_filepath: node.pem`,
      `${security}.ssl.${layer}.pemkey_filepath: node.key`,
      `${security}.ssl.${layer}.pemtrustedcas_filepath: ca.pem`
    ].join('\n')
  const lines = [
    'node.name: node',
    'discovery.type: single-node',
    'network.host: 127.0.0.1',
    `http.port: ${ports.port}`,
    `transport.port: ${ports.transportPort}`,
    // The disk of the test machine is not what is tested here.
    'cluster.routing.allocation.disk.threshold_enabled: false',
    files('transport'),
    files('http'),
    `${security}.ssl.http.enabled: true`,
    `${security}.ssl.transport.enforce_hostname_verification: false`,
    `${security}.nodes_dn: ["CN=search-node"]`,
    `${security}.allow_default_init_securityindex: true`,
    `${security}.audit.type: noop`
  ]
  writeFileSync(join(home, 'config', 'opensearch.yml'), `${lines.join('\n')}\n`)
}

/** The role of the guide: the first list is for the cluster, the second for the indexes. */
function readRights(): { cluster: string[]; index: string[] } {
  const guide = readFileSync(join(FOLDER, '..', '..', '..', 'ops', 'guides', 'traffic-log.md'), 'utf8')
  const [, role = ''] = /```yaml\n(gateway_records:\n[\s\S]*?)```/.exec(guide) ?? []
  const list = (name: string) =>
    [...(role.split(`${name}:`)[1]?.split(/^\s*\w+:$/m)[0] ?? '').matchAll(/- '?([a-z:/_*[\]-]+)'?$/gm)].map(
      ([, right = '']) => right
    )
  return { cluster: list('cluster_permissions'), index: list('allowed_actions') }
}

function writeUsers(folder: string, indexes: readonly string[]): void {
  const { cluster, index } = readRights()
  // JSON is YAML.
  const write = (name: string, type: string, content: object) =>
    writeFileSync(join(folder, `${name}.yml`), JSON.stringify({ _meta: { type, config_version: 2 }, ...content }))
  write('internal_users', 'internalusers', {
    gateway: { hash: HASHES.gateway, reserved: false },
    admin: { hash: HASHES.admin, reserved: false }
  })
  write('roles', 'roles', {
    records: {
      cluster_permissions: cluster,
      index_permissions: [{ index_patterns: indexes.flatMap(name => [name, `.ds-${name}-*`]), allowed_actions: index }]
    }
  })
  write('roles_mapping', 'rolesmapping', { records: { users: ['gateway'] }, all_access: { users: ['admin'] } })
}

/** The documents of an index or data stream, after a refresh. */
export async function countDocuments(node: SearchNode, index: string): Promise<number> {
  await node.ask('POST', `/${index}/_refresh`)
  return (await node.ask('GET', `/${index}/_count`)).body.count
}

/** The hits of all documents, or of one. */
export async function readDocuments(node: SearchNode, index: string, id?: string): Promise<Loose[]> {
  await node.ask('POST', `/${index}/_refresh`)
  const query = id === undefined ? { match_all: {} } : { ids: { values: [id] } }
  return (await node.ask('POST', `/${index}/_search`, { query, size: 10_000 })).body.hits.hits
}
