// Which addresses of images and files may go to a provider, which reads them itself
// (decisions.md 105). A provider on this machine could read what the client cannot reach.

import { isAddress, isPublicAddress, readEmbeddedAddress } from '../../../shared/addresses.ts'

export interface AddressRules {
  /** The provider runs on this machine: addresses must not lead to private hosts. */
  isLocal?: boolean | undefined
  /** The wire names files of the provider's own storage by `gs:` addresses. */
  hasStorage?: boolean
}

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'data:'])
const STORAGE = 'gs:'

/** Names under which clouds give a machine its credentials, and those of the machine itself. */
const PRIVATE_NAMES: ReadonlySet<string> = new Set([
  'instance-data',
  'instance-data.ec2.internal',
  'localhost',
  'metadata',
  'metadata.azure.internal',
  'metadata.goog',
  'metadata.google.internal',
  'metadata.tencentyun.com'
])

/** False for an address of another scheme, and for one that leads a provider of this machine to a private host by its letters. */
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
  if (isAddress(host)) return !isPublicAddress(readEmbeddedAddress(host))
  return PRIVATE_NAMES.has(host) || host.endsWith('.localhost')
}
