// The provider face of the native upstream's v1 contract.

import type { ProviderFace } from '../../provider-face.ts'
import { nativeV1Acceptance } from '../acceptance.ts'
import { nativeEmbeddings } from '../embeddings.ts'
import { findPayloadError, readResponseError } from '../errors.ts'
import { nativeModelList } from '../models.ts'
import type { NativeOptions } from '../options.ts'
import type { NativeReading } from '../reading.ts'
import { readResponseIds } from '../response-ids.ts'
import { nativeTokenCount } from '../token-count.ts'
import { createNativeV1Reader } from './reader.ts'
import { writeNativeV1Chat } from './request.ts'

export const nativeV1Face: ProviderFace<NativeOptions, NativeReading> = {
  accepts: nativeV1Acceptance,
  writeChat: writeNativeV1Chat,
  createReader: (reading, head, dependencies) =>
    createNativeV1Reader({ ...dependencies, reading, ids: readResponseIds(head) }),
  readError: readResponseError,
  findError: findPayloadError,
  // Only chat has two contracts.
  embeddings: nativeEmbeddings,
  countTokens: nativeTokenCount,
  models: nativeModelList
}
