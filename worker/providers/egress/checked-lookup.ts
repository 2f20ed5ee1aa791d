// Decides where the connections of a profile may lead. A host is resolved and checked for every new
// connection, and the connection goes to a checked address, so that a later change of the name's
// addresses cannot redirect it (bridge.md 8.6).

import { isIP, type LookupFunction } from 'node:net'
import { type AddressClass, classifyAddress } from '../../../shared/net/addresses.ts'
import { isMetadataName } from '../../../shared/net/host-names.ts'
import { type AddressPolicy, allowsAddressClass } from '../../../shared/profile/network-policy.ts'
import { DESTINATION_REFUSED } from '../http/call-failure.ts'
import { createNameResolver } from './name-resolver.ts'
import { createSystemResolver } from './system-resolver.ts'

/** Resolves with all addresses of a name, or rejects when it has none or takes too long. */
export type ResolveHost = (host: string) => Promise<string[]>

/** What was found where a host was refused: the class of its address, or why it has none. */
export type RefusedClass = AddressClass | 'unresolved'

export interface RefusalFacts {
  /** The name that was looked up: a profile has up to three hosts, of its API, its token server and its proxy. */
  host?: string
  policy?: AddressPolicy
  cause?: unknown
}

/** The policy does not allow an address of the host, or the host has none. Its text names the host and no address. */
export class DestinationRefusedError extends Error {
  readonly code = DESTINATION_REFUSED
  readonly found: RefusedClass

  constructor(found: RefusedClass, facts: RefusalFacts = {}) {
    super(describeRefusal(found, facts), facts.cause === undefined ? {} : { cause: facts.cause })
    this.found = found
  }
}

function describeRefusal(found: RefusedClass, { host, policy, cause }: RefusalFacts): string {
  const subject = host === undefined ? 'The host' : `The host ${host}`
  if (found === 'unresolved') {
    const code = findResolverCode(cause)
    return `${subject} cannot be resolved${code === undefined ? '' : ` (${code})`}.`
  }
  const rule = policy === undefined ? '' : ` by the policy ${policy}`
  return `${subject} has an address of the class ${found}, which is not allowed${rule}.`
}

/** The code of the system or of the name servers, such as ENOTFOUND for a name that does not exist and EAI_AGAIN without a name server. */
function findResolverCode(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : findResolverCode(cause.cause)
}

/** Checks the addresses of one destination, for the connector of an HTTP client. */
export interface DestinationGuard {
  /** Resolves a name to allowed addresses. One that is not allowed refuses the host, because the connector chooses which it dials. */
  lookup: LookupFunction
  /** Whether a host that is an address itself may be dialed: connectors never look it up. */
  isAllowed(address: string): boolean
  /** The error for a host that is an address itself and may not be dialed. */
  refuse(address: string): DestinationRefusedError
}

export interface GuardOptions {
  /** URL of the destination. Only its scheme counts: some addresses are allowed over https alone. Plain http unless given. */
  url?: string
  /** The resolver of the policy unless given: name servers for public hosts, the system for all others. */
  resolve?: ResolveHost | undefined
}

/** Creates the guard of one destination: the API of a profile, its token server or its proxy. */
export function createDestinationGuard(
  policy: AddressPolicy,
  { url = '', resolve = createPolicyResolver(policy) }: GuardOptions = {}
): DestinationGuard {
  const isEncrypted = /^https:/i.test(url)
  const isAllowed = (address: string): boolean => allowsAddressClass(policy, classifyAddress(address), isEncrypted)
  const findRefusal = (host: string, addresses: readonly string[]): DestinationRefusedError | undefined => {
    if (addresses.length === 0) return new DestinationRefusedError('unresolved', { host })
    const refused = addresses.find(address => !isAllowed(address))
    return refused === undefined ? undefined : new DestinationRefusedError(classifyAddress(refused), { host, policy })
  }
  return {
    isAllowed,
    refuse: address => new DestinationRefusedError(classifyAddress(address), { policy }),
    lookup(host, options, callback) {
      // Whatever its addresses are: a hosts file or a name server may lead it anywhere.
      if (isMetadataName(host)) {
        queueMicrotask(() => callback(new DestinationRefusedError('forbidden', { host, policy }), ''))
        return
      }
      resolve(host).then(
        addresses => {
          const refusal = findRefusal(host, addresses)
          if (refusal === undefined) giveAddresses(addresses, options, callback)
          else callback(refusal, '')
        },
        (thrown: unknown) => callback(new DestinationRefusedError('unresolved', { host, cause: thrown }), '')
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
 * have a resolver of their own. Names of this machine and of private networks stand in hosts files
 * and below search domains, which only the system knows.
 */
function createPolicyResolver(policy: AddressPolicy): ResolveHost {
  return policy === 'public' ? createSharedResolver(createNameResolver()) : resolveBySystem
}

/** One for the worker: the bound on names at once holds for all profiles together. */
const resolveBySystem = createSystemResolver()

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
