// What authorizes the calls of a profile of an external kind (bridge.md 4.4 and 8.2).

import type { Secret } from '../../../shared/secret.ts'
import { type CredentialSource, createFixedCredential, type Sign, signNothing } from '../http/credential.ts'

/**
 * The credential of a profile: a keyless one signs with nothing.
 * @param createSigner the signer of the kind for the credential of a profile.
 */
export function createProfileCredential(
  credential: Secret | undefined,
  createSigner: (credential: Secret) => Sign
): CredentialSource {
  return createFixedCredential(credential === undefined ? signNothing : createSigner(credential))
}
