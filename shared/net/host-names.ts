// The classes of host names, by their letters alone (providers.md 1). What a name resolves to is
// checked when a connection is opened.

import type { AddressClass } from './addresses.ts'

/**
 * The class of a host that is a name: `forbidden` for names under which clouds give a machine its
 * credentials and for none, `loopback` for this machine, `private` for names that no public name
 * server knows, and `public` for all others.
 */
export function classifyName(host: string): AddressClass {
  const name = host.toLowerCase().replace(/\.$/, '')
  if (name === '' || isBelow(name, METADATA_NAMES)) return 'forbidden'
  if (isBelow(name, LOOPBACK_NAMES)) return 'loopback'
  return !name.includes('.') || isBelow(name, PRIVATE_NAMES) ? 'private' : 'public'
}

/** Whether a name is one under which clouds give a machine its credentials. */
export function isMetadataName(host: string): boolean {
  return isBelow(host.toLowerCase().replace(/\.$/, ''), METADATA_NAMES)
}

function isBelow(name: string, parents: readonly string[]): boolean {
  return parents.some(parent => name === parent || name.endsWith(`.${parent}`))
}

const METADATA_NAMES: readonly string[] = [
  'instance-data',
  'instance-data.ec2.internal',
  'metadata',
  'metadata.azure.internal',
  'metadata.goog',
  'metadata.google.internal',
  'metadata.tencentyun.com'
]

const LOOPBACK_NAMES: readonly string[] = ['localhost']

/** The names of clusters, clouds and offices. A name of one label is private too. */
const PRIVATE_NAMES: readonly string[] = ['svc', 'cluster.local', 'internal', 'local', 'lan', 'corp', 'home.arpa']
