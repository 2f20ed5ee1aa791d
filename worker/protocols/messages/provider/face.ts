// The provider face of the kind `messages_compatible`, whose wire is that of Anthropic Messages.

import type { ProviderFace } from '../../provider-face.ts'
import { findExternalError, readExternalError } from '../../shared/errors/external-error.ts'
import { messagesSameWire } from '../same-wire.ts'
import { messagesCompatibleAcceptance } from './acceptance.ts'
import { messagesCompatibleTokenCount } from './count-tokens.ts'
import { messagesCompatibleModels } from './models.ts'
import type { MessagesCompatibleOptions } from './options.ts'
import { createReader } from './reader.ts'
import type { MessagesCompatibleReading } from './reading.ts'
import { writeChat } from './request.ts'

export const messagesCompatibleFace: ProviderFace<MessagesCompatibleOptions, MessagesCompatibleReading> = {
  accepts: messagesCompatibleAcceptance,
  writeChat,
  createReader,
  readError: readExternalError,
  findError: findExternalError,
  sameWire: messagesSameWire,
  countTokens: messagesCompatibleTokenCount,
  models: messagesCompatibleModels
}
