// Resolves a host for a connection and returns only allowed addresses. Every new connection goes to a checked address, so that a later
// change of the name's addresses cannot redirect it (bridge contract, section 8.6).

import { lookup as resolveName } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { isLoopbackAddress, isPublicAddress } from '../../../shared/addresses.ts'
import { DESTINATION_REFUSED } from '../http/call-failure.ts'

/** Where connections may go: to public hosts only, or to this machine only. */
export type AddressPolicy = 'public' | 'loopback'

/** The policy does not allow an address of the host, or the host has none. */
class DestinationRefusedError extends Error {
  readonly code = DESTINATION_REFUSED
}

/**
 * A lookup for the connector of an HTTP client. One address that is not allowed refuses the host, because the connector chooses which
 * address it dials. A host that is an address is never looked up; it is checked where the URL is accepted.
 */
export function createCheckedLookup(
  policy: AddressPolicy,
  resolve: (host: string) => Promise<string[]> = resolveAll
): LookupFunction {
  const isAllowed = policy === 'public' ? isPublicAddress : isLoopbackAddress
  return (host, options, callback) => {
    resolve(host).then(
      addresses => {
        if (addresses.length > 0 && addresses.every(isAllowed)) giveAddresses(addresses, options, callback)
        else callback(new DestinationRefusedError('The host resolves to an address that is not allowed.'), '')
      },
      (thrown: unknown) => {
        callback(new DestinationRefusedError('The host cannot be resolved.', { cause: thrown }), '')
      }
    )
  }
}

/** A lookup that always returns the given addresses, which were checked before. */
export function createPinnedLookup(addresses: readonly string[]): LookupFunction {
  return (_host, options, callback) => giveAddresses(addresses, options, callback)
}

/** All addresses of a name of the operator, in the order of the system, which also knows the names in /etc/hosts. */
async function resolveAll(host: string): Promise<string[]> {
  const found = await resolveName(host, { all: true, verbatim: true })
  return found.map(entry => entry.address)
}

function giveAddresses(
  addresses: readonly string[],
  options: Parameters<LookupFunction>[1],
  callback: Parameters<LookupFunction>[2]
): void {
  if (options.all === true) {
    callback(
      null,
      addresses.map(address => ({ address, family: isIP(address) }))
    )
    return
  }
  const first = addresses[0] ?? ''
  callback(null, first, isIP(first))
}
