// The model name of a client. It is written to log lines and is the key of a limit, so its length is bounded.

import { invalidRequest, type JsonObject } from '../../normalized/index.ts'
import type { ReadContext } from '../client-face.ts'
import { keepDefined, readOptionalString } from './members/field.ts'

/** Longest model name, in bodies and in paths. */
export const MODEL_CHARACTERS_MAX = 1024

/** The model of a request of any protocol, without the rest of it. Raises the errors of `readModel`. */
export function readModelAlone(body: JsonObject, { path }: Pick<ReadContext, 'path'>): { model?: string } {
  return keepDefined({ model: path === undefined ? readModel(body) : path.model })
}

/** Reads the `model` member unchanged; a blank one counts as absent. Raises `invalid_request` when it is too long. */
export function readModel(body: JsonObject): string | undefined {
  const model = readOptionalString(body, 'model')
  if (model !== undefined && model.length > MODEL_CHARACTERS_MAX) {
    throw invalidRequest('model', `'model' must have at most ${MODEL_CHARACTERS_MAX} characters.`)
  }
  return model?.trim() === '' ? undefined : model
}
