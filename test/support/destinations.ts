// The table of destinations and policies (providers.md 1 and 4): one for the preflight and for the
// guard of connections.

import type { AddressPolicy } from '../../shared/profile/network-policy.ts'

/** A policy together with the scheme of the destination. */
export interface PolicyCase {
  policy: AddressPolicy
  scheme: 'http' | 'https'
}

/**
 * The cases by the letters of the table. `H` and `S` stand in no row: a public destination never
 * uses http, and loopback never https.
 */
export const policyCases = {
  P: { policy: 'public', scheme: 'https' },
  H: { policy: 'public', scheme: 'http' },
  L: { policy: 'loopback', scheme: 'http' },
  S: { policy: 'loopback', scheme: 'https' },
  r: { policy: 'private', scheme: 'https' },
  q: { policy: 'private', scheme: 'http' },
  x: { policy: 'proxy', scheme: 'http' }
} as const satisfies Record<string, PolicyCase>

export interface DestinationRow {
  host: string
  /** The addresses of a name; undefined for a host that is an address. */
  addresses?: readonly string[]
  /** The letters of the cases that the preflight allows, and of those that a connection may be made for. */
  preflight: string
  connect: string
}

/** A host that is an address: both judge it alike. */
const literal = (allowed: string, hosts: readonly string[]): DestinationRow[] =>
  hosts.map(host => ({ host, preflight: allowed, connect: allowed }))

/** A spelling of an address that the preflight refuses, although a name may have such an address. */
const carrier = (allowed: string, hosts: readonly string[]): DestinationRow[] =>
  hosts.map(host => ({ host, preflight: '', connect: allowed }))

const name = (host: string, preflight: string, addresses: readonly string[], connect: string): DestinationRow => ({
  host,
  addresses,
  preflight,
  connect
})

const PUBLIC = 'Prx'
const PRIVATE = 'rqx'
const LOOPBACK = 'Lx'

export const destinationRows: readonly DestinationRow[] = [
  ...literal(PUBLIC, ['8.8.8.8', '100.63.255.255', '100.128.0.1', '172.15.0.1', '172.32.0.1', '[2606:4700::1111]']),
  ...literal(PRIVATE, ['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '100.64.0.1']),
  ...literal(PRIVATE, ['100.127.255.255', '[fc00::1]', '[fd12:3456:789a::1]', '[fd00::2]']),
  // The same in other spellings of IPv4.
  ...literal(PRIVATE, ['0x0a000001', '167772161', '012.0.0.1', '10.1', '0xc0.0xa8.1', '\uff11\uff10.0.0.1']),
  ...literal(LOOPBACK, ['127.0.0.1', '127.9.9.9', '2130706433', '0x7f.1', '[::1]']),
  // Link-local, unspecified, multicast, broadcast, reserved.
  ...literal('', ['169.254.1.1', '169.254.0.0', '[fe80::1]', '[febf::1]', '0.0.0.0', '0', '0.1.2.3', '[::]']),
  ...literal('', ['224.0.0.1', '239.255.255.250', '[ff02::1]', '[ff05::1:3]', '255.255.255.255', '240.0.0.1']),
  ...literal('', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '192.0.0.1', '[2001:db8::1]', '[fec0::1]']),
  ...literal('', ['[100::1]', '[4000::1]', '[5f00::1]']),
  // Clouds, in every spelling.
  ...literal('', ['169.254.169.254', '2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '0xa9.254.0251.254']),
  ...literal('', ['169.254.43518', '0xa9.0xfea9fe', '169.254.170.2', '100.100.100.200', '0x646464c8', '192.0.0.192']),
  ...literal('', ['168.63.129.16', '[fd00:ec2::254]', '[fd00:ec2::23]', '[FD00:0EC2:0:0::254]', '[fd20:ce::254]']),
  ...literal('', ['[fd00:c1::a9fe:a9fe]', '[fd00:42::42]', '[fd00:a9fe:a9fe::1]', '[fd00:100::100:200]']),
  ...literal('', [
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[::ffff:100.100.100.200]',
    '[64:ff9b::a9fe:a9fe]'
  ]),
  ...literal('', ['[64:ff9b::100.100.100.200]', '[64:ff9b:1::a9fe:a9fe]', '[64:ff9b:1:fffe::a9fe:a9fe]']),
  ...literal('', [
    '[64:ff9b:1:a9fe:a9:fe00::]',
    '[2002:a9fe:a9fe::1]',
    '[::169.254.169.254]',
    '[::ffff:0:169.254.169.254]'
  ]),
  ...literal('', ['[2001:0:4136:e378:8000:63bf:5601:5601]', '[fd00:64::a9fe:a9fe]', '[fd00::5efe:169.254.169.254]']),
  ...literal('', ['[2606:4700::a9fe:a9fe]', '[fd99::100.100.100.200]', '\uff11\uff16\uff19.254.169.254']),
  // An address inside of another one: a network gives such an address, no operator writes it.
  ...carrier(PUBLIC, ['[::ffff:8.8.8.8]', '[64:ff9b::808:808]']),
  ...carrier(PRIVATE, ['[::ffff:10.0.0.1]', '[64:ff9b::a00:1]']),
  ...carrier(LOOPBACK, ['[::ffff:127.0.0.1]']),
  ...literal('', ['[64:ff9b::7f00:1]', '[64:ff9b:1::808:808]', '[2002:a00:1::]', '[2002:808:808::]', '[::10.0.0.1]']),
  ...literal('', ['[::ffff:0:10.0.0.1]', '[::ffff:0.0.0.0]', '[64:ff9b::e000:1]']),

  // Names of this machine.
  name('localhost', LOOPBACK, ['127.0.0.1', '::1'], LOOPBACK),
  name('LOCALHOST.', LOOPBACK, ['::1'], LOOPBACK),
  name('localhost', LOOPBACK, ['10.0.0.1'], PRIVATE),
  name('a.localhost', 'x', ['127.0.0.1'], LOOPBACK),
  // Names of private networks.
  name('vllm', PRIVATE, ['10.0.0.1'], PRIVATE),
  name('VLLM.', PRIVATE, ['10.0.0.1', 'fd00::1'], PRIVATE),
  name('vllm.inference.svc', PRIVATE, ['10.96.0.10'], PRIVATE),
  name('vllm.inference.svc.cluster.local', PRIVATE, ['10.96.0.10'], PRIVATE),
  name('vllm.inference.svc', PRIVATE, ['127.0.0.1'], LOOPBACK),
  name('gateway.corp.internal', PRIVATE, ['100.64.0.7'], PRIVATE),
  name('host.docker.internal', PRIVATE, ['192.168.65.254'], PRIVATE),
  name('ollama.local', PRIVATE, ['192.168.1.20'], PRIVATE),
  name('box.lan', PRIVATE, ['fd00::20'], PRIVATE),
  name('api.corp', PRIVATE, ['10.0.0.1', '8.8.8.8'], 'rx'),
  name('nas.home.arpa', PRIVATE, ['192.168.1.20'], PRIVATE),
  name('gateway.internal', PRIVATE, ['8.8.8.8'], PUBLIC),
  name('gateway.internal', PRIVATE, ['169.254.169.254'], ''),
  name('gateway.internal', PRIVATE, ['10.0.0.1', '169.254.169.254'], ''),
  name('gateway.internal', PRIVATE, ['10.0.0.1', '127.0.0.1'], 'x'),
  name('gateway.internal', PRIVATE, [], ''),
  // Public names: inside of a company they may have private addresses.
  name('llm.example.com', 'Prqx', ['8.8.8.8', '2606:4700::1'], PUBLIC),
  name('llm.example.com', 'Prqx', ['10.0.0.1'], PRIVATE),
  name('llm.example.com', 'Prqx', ['64:ff9b::808:808'], PUBLIC),
  name('llm.example.com', 'Prqx', ['::ffff:10.0.0.1'], PRIVATE),
  name('llm.example.com', 'Prqx', ['127.0.0.1'], LOOPBACK),
  name('llm.example.com', 'Prqx', ['8.8.8.8', '10.0.0.1'], 'rx'),
  name('llm.example.com', 'Prqx', ['100.100.100.200'], ''),
  name('llm.example.com', 'Prqx', ['8.8.8.8', '64:ff9b::a9fe:a9fe'], ''),
  name('llm.example.com', 'Prqx', ['fe80::1%eth0'], ''),
  name('llm.example.com', 'Prqx', [], ''),
  name('metadata.google.internal.example', 'Prqx', ['8.8.8.8'], PUBLIC),
  // Names under which clouds give credentials, at any address.
  ...[
    ...['metadata.google.internal', 'METADATA.Google.Internal.', 'x.metadata.google.internal', 'metadata.goog'],
    ...['metadata.azure.internal', 'instance-data', 'Instance-Data.', 'instance-data.ec2.internal', 'metadata'],
    ...['metadata.google.\u24d8nternal', 'metadata\u3002google\u3002internal', 'm%65tadata.google.internal']
  ].flatMap(host => [name(host, '', ['10.0.0.1'], ''), name(host, '', ['8.8.8.8'], '')])
]
