// The text of a refusal: it names the field and the model (decisions.md 80).

import { errorDefinitions, GatewayError } from '../normalized/index.ts'

const DEFAULT_TEXT = errorDefinitions.unsupported_semantic.text

/** A client may write any text as its model. */
const MODEL_CHARACTERS_MAX = 256

/**
 * Gives an error with the code `unsupported_semantic` the public model and a text that names it; returns every other value as it is. A text
 * of its own, which says why, stays behind it.
 */
export function nameModel(thrown: unknown, publicModel: string | undefined): unknown {
  if (!GatewayError.is(thrown) || thrown.code !== 'unsupported_semantic') return thrown
  if (publicModel === undefined || publicModel === '' || thrown.model !== undefined) return thrown
  const { param } = thrown
  const model = publicModel.slice(0, MODEL_CHARACTERS_MAX)
  const subject =
    param === undefined || param === 'model'
      ? `The request is not supported by model '${model}'.`
      : `'${param}' is not supported by model '${model}'.`
  const isOwnText = thrown.message !== DEFAULT_TEXT && thrown.message !== `'${param}' is not supported.`
  return thrown.with({ model, message: isOwnText ? `${subject} ${thrown.message}` : subject })
}
