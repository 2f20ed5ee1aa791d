// Host names and origins of this machine. While a gateway serves its own machine alone, they decide which requests of browsers it takes
// (decisions.md 101).
import { classifyAddress, isAddress } from './addresses.ts'
import { classifyName } from './host-names.ts'

/** A name or an address, IPv6 in brackets, with or without a port. Signs that an address bar reads in another way are no part of one. */
const HOST = /^(?:[\w.-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{0,5})?$/i

/**
 * The name in a `Host` header as URLs spell it: in lower case, without the port and without the dot that may end it; undefined for a text
 * that is no host.
 */
export function readHostName(host: string): string | undefined {
  return HOST.test(host) ? spellHost(host) : undefined
}

/** The same for a host of a setting, whose letters may be any. */
export function spellHost(host: string): string | undefined {
  if (/[\s/\\?#@%*]/.test(host)) return undefined
  const name = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '')
  return name === '' ? undefined : name
}

/** Whether a name, as `readHostName` returns it, leads to this machine without a question to a name server. */
export function isLoopbackName(name: string): boolean {
  const address = name.startsWith('[') ? name.slice(1, -1) : name
  return (isAddress(address) ? classifyAddress(address) : classifyName(name)) === 'loopback'
}

const WEB_ORIGIN = /^https?:\/\/([^/]*)$/i

/** Whether a page of this origin comes from a server on this machine. */
export function isLoopbackOrigin(origin: string): boolean {
  const host = WEB_ORIGIN.exec(origin)?.[1]
  const name = host === undefined ? undefined : readHostName(host)
  return name !== undefined && isLoopbackName(name)
}

/** Whether an origin is that of the page that this host, a whole `Host` header, serves. */
export function isOriginOf(host: string, origin: string): boolean {
  return WEB_ORIGIN.exec(origin)?.[1]?.toLowerCase() === host.toLowerCase()
}

/**
 * Creates the test of `Host` headers: true for a name of this machine, the configured host and the further ones, with any port. The
 * spellings that nearly all clients send are looked up; any other one is parsed.
 */
export function createHostTest({
  host,
  port,
  allowedHosts
}: {
  readonly host: string
  readonly port: number
  readonly allowedHosts: readonly string[]
}): (header: string) => boolean {
  const further = [host, ...allowedHosts]
    .map(writeHost)
    .map(spellHost)
    .filter(name => name !== undefined)
  const names = new Set(further)
  const common = new Set(['localhost', '127.0.0.1', '[::1]', ...names].flatMap(name => [name, `${name}:${port}`]))
  return header => {
    if (common.has(header)) return true
    const name = readHostName(header)
    return name !== undefined && (names.has(name) || isLoopbackName(name))
  }
}

/** An IPv6 address stands in brackets before a port. */
export function writeHost(host: string): string {
  return isAddress(host) && host.includes(':') ? `[${host}]` : host
}
