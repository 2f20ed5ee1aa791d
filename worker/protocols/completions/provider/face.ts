// The provider face of the kind `chat_compatible`, whose wire is that of chat completions.

import type { ProviderFace } from '../../provider-face.ts'
import { findExternalError, readExternalError } from '../../shared/errors/external-error.ts'
import { completionsSameWire } from '../same-wire.ts'
import { chatCompatibleAcceptance } from './acceptance.ts'
import { chatCompatibleEmbeddings } from './embeddings.ts'
import { chatCompatibleModels } from './models.ts'
import type { ChatCompatibleOptions } from './options.ts'
import { createReader } from './reader.ts'
import type { ChatCompatibleReading } from './reading.ts'
import { writeChat } from './request.ts'

export const chatCompatibleFace: ProviderFace<ChatCompatibleOptions, ChatCompatibleReading> = {
  accepts: chatCompatibleAcceptance,
  writeChat,
  createReader,
  readError: readExternalError,
  findError: findExternalError,
  sameWire: completionsSameWire,
  embeddings: chatCompatibleEmbeddings,
  models: chatCompatibleModels
}
