// Which addresses may read the log (operations.md 2.5).
import type { IncomingMessage } from 'node:http'
import { type AddressRange, isInRanges, readAddressRange, withoutPort } from '../../../shared/net/addresses.ts'
import type { Settings } from '../../../shared/settings.ts'
import { GatewayError } from '../../normalized/index.ts'

/** Creates the check of one request, which raises `ip_not_allowed`. An empty list allows every address. */
export function createAllowlist(
  settings: Pick<Settings, 'logsIpAllowlist' | 'logsTrustedProxies'>
): (incoming: IncomingMessage) => void {
  const allowed = readRanges(settings.logsIpAllowlist)
  const trustedProxies = readRanges(settings.logsTrustedProxies)
  return incoming => {
    if (allowed.length === 0) return
    const peer = incoming.socket.remoteAddress ?? ''
    const forwardedFor = incoming.headers['x-forwarded-for']
    const address = findClientAddress(peer, typeof forwardedFor === 'string' ? forwardedFor : '', trustedProxies)
    if (!isInRanges(address, allowed)) throw new GatewayError('ip_not_allowed')
  }
}

function readRanges(texts: readonly string[]): AddressRange[] {
  // The settings hold no other texts.
  return texts.flatMap(text => readAddressRange(text) ?? [])
}

/**
 * The address of the client. Every trusted proxy has added the address that it was called from at the right of the header, so the client's
 * is the first from the right that is no trusted proxy; those further left are what the client wrote itself. It is the peer's where the
 * peer is no trusted proxy or the header cannot be read.
 */
export function findClientAddress(peer: string, forwardedFor: string, trustedProxies: readonly AddressRange[]): string {
  let address = peer
  for (const hop of forwardedFor.split(',').reverse()) {
    if (!isInRanges(address, trustedProxies)) return address
    const before = withoutPort(hop.trim())
    if (before === undefined) return peer
    address = before
  }
  return address
}
