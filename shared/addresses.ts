// Which addresses a connection may lead to when a client or a profile file names the host. Every address that is not clearly public is
// refused, so that a URL cannot reach the network of the gateway.

import { isIP } from 'node:net'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

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

/** Whether a host is an address, IPv4 or IPv6 without brackets, and not a name. */
export function isAddress(host: string): boolean {
  return isIP(host) !== 0
}

/** Whether an address, IPv4 or IPv6 as text, is a loopback address. */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback'
}

/**
 * The IPv4 address inside of an IPv4-mapped address or of one that a network with NAT64 gives for a
 * host that has only IPv4; any other address as it is. An embedded address is as public as the host
 * that it leads to (bridge.md 8.6).
 */
export function readEmbeddedAddress(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address
  const parsed = ipaddr.IPv6.parse(address)
  if (!EMBEDDING_RANGES.some(range => parsed.match(range))) return address
  return parsed.toByteArray().slice(-IPV4_BYTES).join('.')
}

const IPV4_BYTES = 4

const EMBEDDING_RANGES = ['::ffff:0:0/96', '64:ff9b::/96'].map(range => ipaddr.IPv6.parseCIDR(range))

/** A network of addresses; a single address is one of full length. */
export interface AddressRange {
  readonly network: IPv4 | IPv6
  readonly bits: number
}

/** Reads an address or a CIDR range, such as `10.0.0.0/8`; undefined for any other text. An IPv4-mapped network is the IPv4 network. */
export function readAddressRange(text: string): AddressRange | undefined {
  const [address = '', bits, ...rest] = text.split('/')
  if (isIP(address) === 0 || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return undefined
  const given = ipaddr.parse(address)
  const network = unmap(given)
  const givenLength = given.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS
  const length = network.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS
  const prefix = bits === undefined ? givenLength : Number(bits)
  if (prefix > givenLength || prefix < givenLength - length) return undefined
  return { network, bits: prefix - (givenLength - length) }
}

/** Whether a text is an address in one of the ranges. An IPv4-mapped address counts as its IPv4 address. */
export function isInRanges(address: string, ranges: readonly AddressRange[]): boolean {
  if (isIP(address) === 0) return false
  const parsed = unmap(ipaddr.parse(address))
  return ranges.some(({ network, bits }) => network.kind() === parsed.kind() && parsed.match(network, bits))
}

/** The address of a text that is one, alone or with a port as proxies write it; undefined for any other text. */
export function withoutPort(text: string): string | undefined {
  const address = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  return isIP(address) === 0 ? undefined : address
}

function unmap(address: IPv4 | IPv6): IPv4 | IPv6 {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

const IPV4_BITS = 32
const IPV6_BITS = 128

/** Whether a name belongs to this machine or this network by its form, without resolving it. */
export function isLocalName(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  return name === '' || LOCAL_NAMES.some(local => name === local || name.endsWith(`.${local}`))
}

const LOCAL_NAMES = ['localhost', 'local', 'internal', 'home.arpa']
