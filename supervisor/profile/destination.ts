// Where a profile may lead: public hosts over https, this machine over http, or private hosts, as
// the profile says (bridge.md 4.4, stage B; providers.md 1). Names are not resolved here; their
// addresses are checked for each new connection.

import { type AddressPolicy, allowsUrl, classifyHost, readAddressPolicy } from '../../shared/profile/network-policy.ts'
import type { ProviderProfile } from '../../shared/profile/profile.ts'

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
  const { hostname, port } = new URL(url)
  if (port === '0') return INVALID
  if (allowsUrl(policy, url)) return undefined
  if (policy === 'private') return PRIVATE
  if (policy === 'proxy') return PROXY
  const { found } = classifyHost(url)
  const isThisMachine = found === 'loopback' && !hostname.endsWith('.localhost')
  if (found !== 'public' && !isThisMachine) return NOT_PUBLIC
  return policy === 'public' ? NOT_HTTPS : NOT_LOOPBACK
}

const INVALID = 'Provider profile destination is invalid.'
const NOT_PUBLIC = 'Provider profile destination is not public.'
const NOT_HTTPS = 'Provider profile destination must use public HTTPS.'
const NOT_LOOPBACK = 'Loopback development profiles require an HTTP loopback destination.'
const PRIVATE =
  'Private network profiles require a private destination, or a public one by HTTPS; loopback, link-local, reserved and metadata hosts are refused.'
const PROXY =
  'Provider profile proxies may be loopback, private or public; link-local, reserved and metadata hosts are refused.'
