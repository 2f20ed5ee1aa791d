// The provider face of the native upstream's v2 contract.

import type { ProviderFace } from '../../provider-face.ts'
import { nativeV2Acceptance } from '../acceptance.ts'
import { nativeEmbeddings } from '../embeddings.ts'
import { findPayloadError, readResponseError } from '../errors.ts'
import { nativeModelList } from '../models.ts'
import type { NativeOptions } from '../options.ts'
import type { NativeReading } from '../reading.ts'
import { readResponseIds } from '../response-ids.ts'
import { findImpliedModel } from '../stored-conversation.ts'
import { nativeTokenCount } from '../token-count.ts'
import { createNativeV2Reader } from './reader.ts'
import { writeNativeV2Chat } from './request.ts'

export const nativeV2Face: ProviderFace<NativeOptions, NativeReading> = {
  accepts: nativeV2Acceptance,
  writeChat: writeNativeV2Chat,
  createReader: (reading, head, dependencies) =>
    createNativeV2Reader({ ...dependencies, reading, ids: readResponseIds(head) }),
  readError: readResponseError,
  findError: findPayloadError,
  findImpliedModel,
  // Only chat has two contracts.
  embeddings: nativeEmbeddings,
  countTokens: nativeTokenCount,
  models: nativeModelList
}
