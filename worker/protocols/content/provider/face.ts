// The provider face of the kind `content_compatible`, whose wire is that of the content protocol.

import type { ProviderFace } from '../../provider-face.ts'
import { contentSameWire } from '../same-wire.ts'
import { contentCompatibleAcceptance } from './acceptance.ts'
import { contentCompatibleTokenCount } from './count-tokens.ts'
import { contentCompatibleEmbeddings } from './embeddings.ts'
import { findError, readError } from './errors.ts'
import { contentCompatibleModelList } from './models.ts'
import type { ContentCompatibleOptions } from './options.ts'
import { createReader } from './reader.ts'
import type { ContentCompatibleReading } from './reading.ts'
import { writeChat } from './request.ts'

export const contentCompatibleFace: ProviderFace<ContentCompatibleOptions, ContentCompatibleReading> = {
  accepts: contentCompatibleAcceptance,
  writeChat,
  createReader,
  readError,
  findError,
  sameWire: contentSameWire,
  embeddings: contentCompatibleEmbeddings,
  countTokens: contentCompatibleTokenCount,
  models: contentCompatibleModelList
}
