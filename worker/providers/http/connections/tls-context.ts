// Contexts of TLS with authorities beside those of the system. OpenSSL reads all of them anew for each context, which takes some
// 30 ms and 1 MB: profiles with the same files share one.

import { createHash } from 'node:crypto'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

export interface ContextTexts {
  /** Authorities beside those of the system, in PEM form. */
  extraCa?: string | undefined
  /** Authorities in place of those. */
  ca?: string | string[] | undefined
  cert?: string | undefined
  key?: string | undefined
  passphrase?: string | undefined
}

/** By the hash of the texts. A context goes with its last connection. */
const shared = new Map<string, WeakRef<SecureContext>>()

/** Returns the context of these texts. Throws where OpenSSL does not accept them. */
export function findContext({ extraCa, ca, ...shown }: ContextTexts): SecureContext {
  const id = createHash('sha256')
    .update(JSON.stringify([extraCa, ca, shown.cert, shown.key, shown.passphrase]))
    .digest('base64')
  const known = shared.get(id)?.deref()
  if (known !== undefined) return known
  for (const [other, reference] of shared) if (reference.deref() === undefined) shared.delete(other)
  const trusted = extraCa === undefined ? ca : [...getCACertificates('default'), extraCa]
  const context = createSecureContext({ ...(trusted !== undefined && { ca: trusted }), ...shown })
  shared.set(id, new WeakRef(context))
  return context
}
