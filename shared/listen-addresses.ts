// The addresses that a host name stands for when something listens on it.
import { lookup } from 'node:dns/promises'

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
