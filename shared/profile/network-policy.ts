// Where the connections of a profile may lead (providers.md 1): one rule for the preflight, which
// judges a URL by its letters, and for the workers, which judge every address before they dial it.

import { type AddressClass, carriesAddress, classifyAddress, isAddress } from '../net/addresses.ts'
import { classifyName } from '../net/host-names.ts'
import type { ProviderProfile } from './profile.ts'

/**
 * `public`: public hosts. `loopback`: this machine. `private`: private hosts, and public ones over
 * https. `proxy`: a proxy that the operator names, which may be any of these.
 */
export type AddressPolicy = 'public' | 'loopback' | 'private' | 'proxy'

export const LOOPBACK_POLICY = 'loopback-development'
export const PRIVATE_POLICY = 'private-network'

/** The policy of a profile's own destination. */
export function readAddressPolicy({
  allowLoopback,
  allowPrivate
}: Pick<ProviderProfile, 'allowLoopback' | 'allowPrivate'>): AddressPolicy {
  if (allowLoopback) return 'loopback'
  return allowPrivate === true ? 'private' : 'public'
}

/** The policy that a reference names, for a destination beside that of the profile, such as its token server. */
export function readPolicyReference(networkPolicyRef: string): AddressPolicy {
  if (networkPolicyRef === LOOPBACK_POLICY) return 'loopback'
  return networkPolicyRef === PRIVATE_POLICY ? 'private' : 'public'
}

/** Whether a policy allows connections to addresses of a class; `isEncrypted` says that they use TLS. */
export function allowsAddressClass(policy: AddressPolicy, found: AddressClass, isEncrypted: boolean): boolean {
  switch (policy) {
    case 'public':
    case 'loopback':
      return found === policy
    case 'private':
      return found === 'private' || (found === 'public' && isEncrypted)
    case 'proxy':
      return found !== 'forbidden'
  }
}

/**
 * The class of the host of a URL by its letters. The URL parser has turned every numeric spelling of
 * an IPv4 address into its dotted form, and every look-alike letter into ASCII. An address that
 * carries another one is forbidden: the author of a URL can write the address inside.
 */
export function classifyHost(url: string): { type: 'name' | 'address'; found: AddressClass } {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  if (!isAddress(host)) return { type: 'name', found: classifyName(host) }
  return { type: 'address', found: carriesAddress(host) ? 'forbidden' : classifyAddress(host) }
}

/**
 * Whether a policy allows a URL by its letters: the base URL of a profile, or that of its token server or proxy. A public name may have
 * private addresses inside of a company, so that a policy for private networks allows it without TLS as well.
 */
export function allowsUrl(policy: AddressPolicy, url: string): boolean {
  const { protocol, hostname } = new URL(url)
  const { type, found } = classifyHost(url)
  const isEncrypted = protocol === 'https:'
  switch (policy) {
    case 'public':
      return found === 'public' && isEncrypted
    case 'loopback':
      // A name below `localhost` may be anything in a hosts file: only the name itself is this machine.
      return found === 'loopback' && !isEncrypted && !hostname.endsWith('.localhost')
    case 'private':
      return allowsAddressClass(policy, found, isEncrypted || type === 'name')
    case 'proxy':
      return found !== 'forbidden'
  }
}
