// Where a profile may lead: public hosts over https, or this machine over http when the profile
// says so (bridge.md 4.4, stage B). Names are not resolved here; their addresses are checked for
// each new connection.
import { isIPv4 } from 'node:net'
import { isLocalName, isPublicAddress } from '../../shared/addresses.ts'
import type { ProviderProfile } from '../../shared/profile.ts'

/**
 * Returns why the destination of a profile is refused, or undefined when it is allowed. `hasZone` says that its host was written with an
 * IPv6 zone.
 */
export function findDestinationProblem(
  { baseUrl, allowLoopback }: Pick<ProviderProfile, 'baseUrl' | 'allowLoopback'>,
  hasZone: boolean
): string | undefined {
  // The URL parser has turned every numeric spelling of an IPv4 address into its dotted form, and every look-alike letter into ASCII.
  const { protocol, hostname, port } = new URL(baseUrl)
  if (hasZone || port === '0') return 'Provider profile destination is invalid.'
  const isLoopback = isLoopbackHost(hostname)
  if (!isLoopback && !isPublicHost(hostname)) return 'Provider profile destination is not public.'
  if (allowLoopback) {
    const isDevelopment = protocol === 'http:' && isLoopback
    return isDevelopment ? undefined : 'Loopback development profiles require an HTTP loopback destination.'
  }
  const isPublic = protocol === 'https:' && !isLoopback
  return isPublic ? undefined : 'Provider profile destination must use public HTTPS.'
}

/** `localhost` itself, 127.0.0.0/8 or ::1. */
function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

function isPublicHost(hostname: string): boolean {
  if (hostname.startsWith('[')) return isPublicAddress(hostname.slice(1, -1))
  return isIPv4(hostname) ? isPublicAddress(hostname) : !isLocalName(hostname)
}
