// Decides where the connections of a profile may lead. A host is resolved and checked for every new
// connection, and the connection goes to a checked address, so that a later change of the name's
// addresses cannot redirect it (bridge.md 8.6).

import { lookup as resolveName } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { isLoopbackAddress, isPublicAddress, readEmbeddedAddress } from '../../../shared/addresses.ts'
import { withDeadline } from '../../../shared/deadline.ts'
import { DESTINATION_REFUSED } from '../http/call-failure.ts'
import { createNameResolver, NAME_TIMEOUT_MS } from './name-resolver.ts'

/** Where connections may go: to public hosts only, or to this machine only. */
export type AddressPolicy = 'public' | 'loopback'

/** Resolves with all addresses of a name, or rejects when it has none or takes too long. */
export type ResolveHost = (host: string) => Promise<string[]>

/** The policy does not allow an address of the host, or the host has none. */
export class DestinationRefusedError extends Error {
  readonly code = DESTINATION_REFUSED
}

/** Checks the addresses of one destination, for the connector of an HTTP client. */
export interface DestinationGuard {
  /** Resolves a name to allowed addresses. One that is not allowed refuses the host, because the connector chooses which it dials. */
  lookup: LookupFunction
  /** Whether a host that is an address itself may be dialed: connectors never look it up. */
  isAllowed(address: string): boolean
}

/**
 * Creates a guard.
 * @param resolve the resolver of the policy unless given: name servers for public hosts, the system for this machine.
 */
export function createDestinationGuard(
  policy: AddressPolicy,
  resolve: ResolveHost = createPolicyResolver(policy)
): DestinationGuard {
  const isInside = policy === 'public' ? isPublicAddress : isLoopbackAddress
  const isAllowed = (address: string): boolean => isInside(readEmbeddedAddress(address))
  return {
    isAllowed,
    lookup(host, options, callback) {
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
}

/** A lookup that always returns the given addresses, which were checked before. */
export function createPinnedLookup(addresses: readonly string[]): LookupFunction {
  return (_host, options, callback) => giveAddresses(addresses, options, callback)
}

/**
 * Public hosts are resolved by the name servers, not by the system: its resolver has a few threads for all names of the process, and a
 * name whose server is silent would delay the connections of every other profile. Nor are they resolved behind clients' URLs, which
 * have a resolver of their own.
 */
function createPolicyResolver(policy: AddressPolicy): ResolveHost {
  return policy === 'public' ? createSharedResolver(createNameResolver()) : resolveBySystem
}

/** Resolves the name of one connection for all that wait for the same name at that moment. */
function createSharedResolver(resolve: ReturnType<typeof createNameResolver>): ResolveHost {
  const running = new Map<string, Promise<string[]>>()
  return host => {
    const shared = running.get(host) ?? resolve(host, NEVER_ABORTED).finally(() => running.delete(host))
    running.set(host, shared)
    return shared
  }
}

/** A resolution ends by its own deadline. */
const NEVER_ABORTED = new AbortController().signal

/** The names of this machine stand in its files. */
async function resolveBySystem(host: string): Promise<string[]> {
  const found = await withDeadline(resolveName(host, { all: true, verbatim: true }), NAME_TIMEOUT_MS)
  if (found === undefined) throw new Error('The system gave no address in time.')
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
