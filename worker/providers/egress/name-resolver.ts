// Resolves hosts that clients or profiles name. It asks the name servers itself (c-ares), because `dns.lookup` runs in two of libuv's threads: a few
// names whose server is silent would delay every new connection to the upstream, which is looked up there too.
// Names in /etc/hosts, search domains and multicast DNS are not used: no public host needs them.

import { Resolver } from 'node:dns/promises'
import { throwIfAborted } from '../http/abort.ts'
import { createGate } from '../http/gate.ts'

/**
 * Resolves with all addresses of a name, at least one. Rejects with the error of the name server or of the deadline, with
 * `gateway_overloaded` when too many names are being resolved, and with the signal's error.
 */
export type NameResolver = (host: string, signal: AbortSignal) => Promise<string[]>

export interface NameResolverOptions {
  /** Name servers in place of the system's, such as `127.0.0.1:5353`. Only tests give them. */
  servers?: readonly string[]
  /** For one name, with all attempts. */
  timeoutMs?: number
}

/** How long the resolution of one name may take. */
export const NAME_TIMEOUT_MS = 5000

/** The second attempt at a name server takes twice the time of the first: both fit into the deadline. */
const ATTEMPTS_PER_SERVER = 2
const FIRST_ATTEMPT_SHARE = 0.3

/**
 * Some name servers never respond to the question for one kind of address: a host that has addresses of the other kind does not wait longer
 * than this for them.
 */
const OTHER_KIND_MS = 1000

/** Names that are resolved at once; each has a socket of its own. */
const NAMES_AT_ONCE_MAX = 256
const NAMES_WAITING_MAX = 1024

/** Creates a resolver with a bounded number of names at once. */
export function createNameResolver({ servers, timeoutMs = NAME_TIMEOUT_MS }: NameResolverOptions = {}): NameResolver {
  const gate = createGate({ slotsMax: NAMES_AT_ONCE_MAX, waitersMax: NAMES_WAITING_MAX, waitMsMax: timeoutMs })

  async function resolve(host: string, signal: AbortSignal): Promise<string[]> {
    // A resolver for each name, because `cancel` ends all queries of one.
    const resolver = new Resolver({
      timeout: Math.ceil(timeoutMs * FIRST_ATTEMPT_SHARE),
      maxTimeout: timeoutMs,
      tries: ATTEMPTS_PER_SERVER
    })
    if (servers !== undefined) resolver.setServers(servers)
    const cancel = (): void => resolver.cancel()
    const deadline = setTimeout(cancel, timeoutMs)
    let otherKind: NodeJS.Timeout | undefined
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const queries = [resolver.resolve4(host), resolver.resolve6(host)] as const
      Promise.any(queries).then(
        () => {
          otherKind = setTimeout(cancel, OTHER_KIND_MS)
        },
        () => undefined
      )
      const found = await Promise.allSettled(queries)
      throwIfAborted(signal)
      // Most hosts have addresses of one kind only.
      const addresses = found.flatMap(result => (result.status === 'fulfilled' ? result.value : []))
      if (addresses.length === 0) throw new Error('No name server gave an address.', { cause: readReason(found[0]) })
      return addresses
    } finally {
      clearTimeout(deadline)
      clearTimeout(otherKind)
      signal.removeEventListener('abort', cancel)
    }
  }

  return async (host, signal) => {
    const release = await gate.enter(signal)
    try {
      return await resolve(host, signal)
    } finally {
      release()
    }
  }
}

function readReason(result: PromiseSettledResult<unknown>): unknown {
  return result.status === 'rejected' ? result.reason : undefined
}
