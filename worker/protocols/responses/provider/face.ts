// The provider face of the kind `chat_compatible` on the wire of OpenAI Responses (decisions.md 86).

import type { ProviderFace } from '../../provider-face.ts'
import { readExternalError } from '../../shared/errors/external-error.ts'
import { responsesSameWire } from '../same-wire.ts'
import { responsesCompatibleAcceptance } from './acceptance.ts'
import { findResponseError } from './errors.ts'
import type { ResponsesCompatibleOptions } from './options.ts'
import { createReader } from './reader.ts'
import type { ResponsesCompatibleReading } from './reading.ts'
import { writeChat } from './request.ts'

export const responsesCompatibleFace: ProviderFace<ResponsesCompatibleOptions, ResponsesCompatibleReading> = {
  accepts: responsesCompatibleAcceptance,
  writeChat,
  createReader,
  readError: readExternalError,
  findError: findResponseError,
  sameWire: responsesSameWire
}
