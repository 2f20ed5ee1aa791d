// Which addresses a connection may lead to when a client or a profile file names the host. Every address that is not clearly public is
// refused, so that a URL cannot reach the network of the gateway.

import ipaddr from 'ipaddr.js'

/**
 * Whether an address, IPv4 or IPv6 as text, is public unicast. Forms that carry an IPv4 address inside (mapped, translated,
 * tunnelled) are refused: a public host never needs them.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  // Global unicast is 2000::/3. Other ranges hold forms such as ::7f00:1, the old spelling of an IPv4 address.
  return parsed.kind() === 'ipv4' || ((parsed.toByteArray()[0] ?? 0) & 0xe0) === 0x20
}

/** Whether an address, IPv4 or IPv6 as text, is a loopback address. */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback'
}

/**
 * The IPv4 address inside of an IPv4-mapped address or of one that a network with NAT64 gives for a host that has only IPv4; any other
 * address as it is. An embedded address is as public as the host that it leads to (bridge contract, section 8.6).
 */
export function readEmbeddedAddress(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address
  const parsed = ipaddr.IPv6.parse(address)
  if (!EMBEDDING_RANGES.some(range => parsed.match(range))) return address
  return parsed.toByteArray().slice(-IPV4_BYTES).join('.')
}

const IPV4_BYTES = 4

const EMBEDDING_RANGES = ['::ffff:0:0/96', '64:ff9b::/96'].map(range => ipaddr.IPv6.parseCIDR(range))

/** Whether a name belongs to this machine or this network by its form, without resolving it. */
export function isLocalName(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  return name === '' || LOCAL_NAMES.some(local => name === local || name.endsWith(`.${local}`))
}

const LOCAL_NAMES = ['localhost', 'local', 'internal', 'home.arpa']
