// Which addresses a connection may lead to when somebody else names the host. Everything that is not plainly a public host is
// refused, so that nobody can make the gateway speak to its own network.

import ipaddr from 'ipaddr.js'

/**
 * Whether an address, IPv4 or IPv6 as text, is public unicast. Forms that carry an IPv4 address inside (mapped, translated,
 * tunnelled) are refused: a public host never needs them.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.range() !== 'unicast') return false
  // Global unicast is 2000::/3. Outside of it lie forms such as ::7f00:1, the old spelling of an IPv4 address.
  return parsed.kind() === 'ipv4' || ((parsed.toByteArray()[0] ?? 0) & 0xe0) === 0x20
}

/** Whether an address, IPv4 or IPv6 as text, is this machine's own. */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback'
}

/** Names that mean this machine or this network wherever they resolve to. */
export function isLocalName(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  return name === '' || LOCAL_NAMES.some(local => name === local || name.endsWith(`.${local}`))
}

const LOCAL_NAMES = ['localhost', 'local', 'internal', 'home.arpa']
