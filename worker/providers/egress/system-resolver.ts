// Resolves names as the system does, with its hosts file, search domains and multicast DNS: those of
// this machine and of private networks stand there only.

import { lookup as lookUpName } from 'node:dns/promises'
import { withDeadline } from '../../../shared/deadline.ts'
import { createGate } from '../http/gate.ts'
import { NAME_TIMEOUT_MS } from './name-resolver.ts'

export interface SystemResolverOptions {
  /** Asks the system for all addresses of a name. Only tests replace it. */
  lookUp?: (host: string) => Promise<string[]>
  /** For one name, with the wait for a turn. */
  timeoutMs?: number
}

/**
 * Names that the system resolves at once. It has few threads for them, and a lookup cannot be
 * cancelled: one whose name server is silent keeps its turn until the system gives up.
 */
const NAMES_AT_ONCE_MAX = 8
const NAMES_WAITING_MAX = 256

/**
 * Creates a resolver that resolves with all addresses of a name. It rejects with the error of the
 * system, at its deadline, and when too many names wait. Connections that want one name at the same
 * time share one lookup; nothing is remembered after it, so that each new connection sees what the
 * name leads to then.
 */
export function createSystemResolver({
  lookUp = askSystem,
  timeoutMs = NAME_TIMEOUT_MS
}: SystemResolverOptions = {}): (host: string) => Promise<string[]> {
  const gate = createGate({ slotsMax: NAMES_AT_ONCE_MAX, waitersMax: NAMES_WAITING_MAX, waitMsMax: timeoutMs })
  const running = new Map<string, Promise<string[]>>()

  async function run(host: string): Promise<string[]> {
    const release = await gate.enter(NEVER_ABORTED)
    try {
      return await lookUp(host)
    } finally {
      release()
    }
  }

  return async host => {
    const shared = running.get(host) ?? run(host).finally(() => running.delete(host))
    running.set(host, shared)
    const addresses = await withDeadline(shared, timeoutMs)
    if (addresses === undefined) throw new Error('The system gave no address in time.')
    return addresses
  }
}

/** A lookup ends by its own deadline. */
const NEVER_ABORTED = new AbortController().signal

async function askSystem(host: string): Promise<string[]> {
  const found = await lookUpName(host, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}
