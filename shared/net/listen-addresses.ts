// The addresses that a host name stands for when something listens on it.
import { lookup } from 'node:dns/promises'
import { classifyAddress, isAddress } from './addresses.ts'
import { isLoopbackName, spellHost, writeHost } from './local-hosts.ts'

/**
 * `localhost` has two addresses on most machines, and clients use either; any other host is taken as it is written. Rejects with the
 * system's error, such as `ENOTFOUND`.
 */
export async function resolveListenAddresses(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host]
  const found = await lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}

/** `localhost` may resolve to an address family that this machine does not have; the other one is enough. */
export function isMissingAddress(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'
}

/** Whether only this machine can connect to a listener on this host, an address or a name. */
export async function isLoopbackBinding(host: string): Promise<boolean> {
  const name = spellHost(writeHost(host))
  if (name === undefined) return false
  if (isLoopbackName(name)) return true
  if (isAddress(host)) return false
  // Many systems have their own name for an address of the loopback network. A name that is not found cannot be listened on either.
  const found = await lookup(host, { all: true }).catch(() => [])
  return found.length > 0 && found.every(({ address }) => classifyAddress(address) === 'loopback')
}
