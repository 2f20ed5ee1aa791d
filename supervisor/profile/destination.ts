// Where a profile may lead: public hosts over https, this machine over http, or private hosts, as
// the profile says (bridge.md 4.4, stage B; providers.md 1). Names are not resolved here; their
// addresses are checked for each new connection.

import { type AddressPolicy, allowsAddressClass, classifyHost, readAddressPolicy } from '../../shared/network-policy.ts'
import type { ProviderProfile } from '../../shared/profile.ts'

/**
 * Returns why the destination of a profile is refused, or undefined when it is allowed. `hasZone` says that its host was written with an
 * IPv6 zone.
 */
export function findDestinationProblem(
  profile: Pick<ProviderProfile, 'baseUrl' | 'allowLoopback' | 'allowPrivate'>,
  hasZone: boolean
): string | undefined {
  if (hasZone) return INVALID
  return findUrlProblem(readAddressPolicy(profile), profile.baseUrl)
}

/**
 * Returns why a policy refuses a URL in canonical form, or undefined when it is allowed: the base URL of a profile, that of its token
 * server or of its proxy.
 */
export function findUrlProblem(policy: AddressPolicy, url: string): string | undefined {
  const { protocol, hostname, port } = new URL(url)
  if (port === '0') return INVALID
  const { type, found } = classifyHost(url)
  switch (policy) {
    case 'proxy':
      return found === 'forbidden' ? PROXY : undefined
    case 'private':
      // A public name may have private addresses inside of a company.
      return allowsAddressClass(policy, found, protocol === 'https:' || type === 'name') ? undefined : PRIVATE
    case 'public':
      if (found !== 'public' && !isThisMachine(hostname, found)) return NOT_PUBLIC
      return found === 'public' && protocol === 'https:' ? undefined : NOT_HTTPS
    case 'loopback':
      if (found !== 'public' && !isThisMachine(hostname, found)) return NOT_PUBLIC
      return found === 'loopback' && protocol === 'http:' ? undefined : NOT_LOOPBACK
  }
}

/** A name below `localhost` may be anything in a hosts file: only the name itself is this machine. */
function isThisMachine(hostname: string, found: string): boolean {
  return found === 'loopback' && !hostname.endsWith('.localhost')
}

const INVALID = 'Provider profile destination is invalid.'
const NOT_PUBLIC = 'Provider profile destination is not public.'
const NOT_HTTPS = 'Provider profile destination must use public HTTPS.'
const NOT_LOOPBACK = 'Loopback development profiles require an HTTP loopback destination.'
const PRIVATE =
  'Private network profiles require a private destination, or a public one by HTTPS; loopback, link-local, reserved and metadata hosts are refused.'
const PROXY =
  'Provider profile proxies may be loopback, private or public; link-local, reserved and metadata hosts are refused.'
