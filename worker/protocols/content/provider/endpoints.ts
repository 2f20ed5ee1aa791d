// The paths of the calls to one profile's models.

import { GatewayError } from '../../../normalized/index.ts'
import type { ContentCompatibleOptions } from './options.ts'

/** The prefix that names of models have on this wire. */
export const MODEL_PREFIX = 'models/'
const TUNED_MODEL_PREFIX = 'tunedModels/'

/**
 * The path of a method of a model, such as `/v1beta/models/x:generateContent`. A name may have its collection in front; that of tuned
 * models is beside the collection of models. Raises `model_required` without a model.
 */
export function writeMethodPath(
  model: string | undefined,
  method: 'generateContent' | 'streamGenerateContent' | 'countTokens' | 'batchEmbedContents',
  { modelsPath }: ContentCompatibleOptions
): string {
  const name = writeModelName(model)
  const parent = modelsPath.slice(0, modelsPath.lastIndexOf('/'))
  const collection = name.startsWith(TUNED_MODEL_PREFIX) ? `${parent}/tunedModels` : modelsPath
  return `${collection}/${encodeName(name.slice(name.indexOf('/') + 1))}:${method}`
}

/** The name of a model with its collection. Raises `model_required` without a model. */
export function writeModelName(model: string | undefined): string {
  if (model === undefined || model === '') throw new GatewayError('model_required')
  return model.startsWith(MODEL_PREFIX) || model.startsWith(TUNED_MODEL_PREFIX) ? model : MODEL_PREFIX + model
}

/** A name may have slashes and colons, which the wire has unescaped in its paths. */
function encodeName(name: string): string {
  const segments = name.split('/')
  const isPlain = segments.every(segment => segment !== '' && segment !== '.' && segment !== '..')
  return isPlain ? segments.map(encodeSegment).join('/') : encodeSegment(name)
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll('%3A', ':')
}
