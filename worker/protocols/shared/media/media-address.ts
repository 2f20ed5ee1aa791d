// Which addresses of images and files may go to a provider, which reads them itself
// (decisions.md 105). A provider on this machine or in a private network could read what the client
// cannot reach.

import { classifyAddress, isAddress } from '../../../../shared/net/addresses.ts'
import { classifyName, isMetadataName } from '../../../../shared/net/host-names.ts'

export interface AddressRules {
  /** The provider runs on this machine or in a private network: addresses must not lead to private hosts. */
  isLocal?: boolean | undefined
  /** The wire names files of the provider's own storage by `gs:` addresses. */
  hasStorage?: boolean
}

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'data:'])
const STORAGE = 'gs:'

/** False for an address of another scheme, and for one that leads a local provider to a private host by its letters. */
export function isAllowedAddress(url: string, { isLocal = false, hasStorage = false }: AddressRules): boolean {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url.trimStart())?.[0].toLowerCase() ?? ''
  if (scheme === STORAGE) return hasStorage
  if (!SCHEMES.has(scheme)) return false
  if (!isLocal || scheme === 'data:') return true
  const host = readHost(url)
  return host !== undefined && !isPrivate(host)
}

/** The host in its plain form: the parser reads all spellings of a number. Undefined for an address that cannot be read. */
function readHost(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  return new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

function isPrivate(host: string): boolean {
  if (isAddress(host)) return classifyAddress(host) !== 'public'
  return isMetadataName(host) || classifyName(host) === 'loopback'
}
