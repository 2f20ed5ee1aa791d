// The registration of the toy kind: what a further provider kind adds to the product, outside of the product.

import type { ProviderProfile } from '../../../shared/profile/profile.ts'
import type { ProviderFaces } from '../../../worker/protocols/registry.ts'
import { createCompatibleKind } from '../../../worker/providers/compatible/kind.ts'
import type { ProviderKindRegistration } from '../../../worker/providers/registry.ts'
import { toyFace } from './face.ts'
import { createToySigner } from './signer.ts'

/** The face's line in the table of faces. */
export const toyFaces: ProviderFaces = { toy: toyFace }

/** The kind over HTTP: a face, a signer and the options of the face. */
const httpKind = createCompatibleKind({
  // The names of the kinds in a profile file are the product's own.
  providerKind: 'toy' as ProviderProfile['providerKind'],
  createSigner: createToySigner,
  readOptions: baseUrl => ({ base: new URL(baseUrl).pathname })
})

/** The kind's line in the table of executors. */
export const toyKind: ProviderKindRegistration = {
  readOptions: httpKind.readOptions,
  createPool: httpKind.createPool
}
