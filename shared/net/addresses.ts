// The classes of addresses that decide where a connection may lead (providers.md 1), and ranges of
// addresses. An address that is of no known class is forbidden.

import { isIP } from 'node:net'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

/**
 * `public`: unicast of the internet. `private`: RFC 1918, the shared range of carriers, and unique
 * local IPv6 addresses. `loopback`: this machine. `forbidden`: all others, which no policy allows:
 * link-local, unspecified, multicast, broadcast and reserved ones, and those under which clouds give
 * a machine its credentials.
 */
export type AddressClass = 'public' | 'private' | 'loopback' | 'forbidden'

/**
 * The class of an address, IPv4 or IPv6 as text. An IPv4-mapped address, and one that a network with
 * NAT64 gives for a host that has only IPv4, is of the class of the address inside of it
 * (bridge.md 8.6); other forms that carry an IPv4 address are forbidden, because no host needs them.
 */
export function classifyAddress(address: string): AddressClass {
  if (!ipaddr.isValid(address)) return 'forbidden'
  const parsed = ipaddr.parse(address)
  return parsed instanceof ipaddr.IPv6 ? classifyIPv6(parsed) : classifyIPv4(parsed)
}

/**
 * Whether an address, IPv4 or IPv6 as text, is public unicast in its own spelling. Forms that carry an IPv4 address inside (mapped,
 * translated, tunnelled) are not: a public host never needs them.
 */
export function isPublicAddress(address: string): boolean {
  return !carriesAddress(address) && classifyAddress(address) === 'public'
}

/** Whether an address is one of the forms whose class is that of an IPv4 address inside of it. */
export function carriesAddress(address: string): boolean {
  if (!ipaddr.IPv6.isValid(address)) return false
  const parsed = ipaddr.IPv6.parse(address)
  return parsed.isIPv4MappedAddress() || parsed.match(NAT64)
}

/** Whether a host is an address, IPv4 or IPv6 without brackets, and not a name. */
export function isAddress(host: string): boolean {
  return isIP(host) !== 0
}

function classifyIPv4(address: IPv4): AddressClass {
  if (METADATA_IPV4.has(address.toString())) return 'forbidden'
  switch (address.range()) {
    case 'unicast':
      return 'public'
    case 'private':
    case 'carrierGradeNat':
      return 'private'
    case 'loopback':
      return 'loopback'
    default:
      return 'forbidden'
  }
}

function classifyIPv6(address: IPv6): AddressClass {
  const bytes = address.toByteArray()
  const inner = new ipaddr.IPv4(bytes.slice(-IPV4_BYTES))
  // Networks have translators under prefixes of their own, and some clouds write their IPv6 address in the same way.
  if (METADATA_IPV4.has(inner.toString()) || METADATA_IPV6.some(range => address.match(range))) return 'forbidden'
  if (address.isIPv4MappedAddress()) return classifyIPv4(inner)
  if (address.match(NAT64)) {
    const innerClass = classifyIPv4(inner)
    // It would be the loopback of the translator.
    return innerClass === 'loopback' ? 'forbidden' : innerClass
  }
  switch (address.range()) {
    case 'unicast':
      // Global unicast is 2000::/3. Other ranges hold forms such as ::7f00:1, the old spelling of an IPv4 address.
      return ((bytes[0] ?? 0) & 0xe0) === 0x20 ? 'public' : 'forbidden'
    case 'uniqueLocal':
      return 'private'
    case 'loopback':
      return 'loopback'
    default:
      return 'forbidden'
  }
}

const IPV4_BYTES = 4

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')

/**
 * The services by which clouds give a machine its credentials, and those of the platform beside
 * them: every cloud, AWS tasks and pods, Tencent, Scaleway, Alibaba, Oracle, Azure. The first ones
 * are link-local anyway: as the end of an IPv6 address they are looked for here.
 */
const METADATA_IPV4: ReadonlySet<string> = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.0.23',
  '169.254.42.42',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16'
])

/** The same of AWS (a range of services), Google, Scaleway, Akamai and Alibaba. */
const METADATA_IPV6 = [
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:42::42/128',
  'fd00:a9fe:a9fe::1/128',
  'fd00:100::100:200/128'
].map(range => ipaddr.IPv6.parseCIDR(range))

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
