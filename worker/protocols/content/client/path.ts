// Reads the URL: the model and, after the last colon, the operation (content.md 1.1).

import { GatewayError } from '../../../normalized/index.ts'
import { rememberTexts } from '../../../performance/remember-texts.ts'

const operations = [
  'generateContent',
  'streamGenerateContent',
  'countTokens',
  'embedContent',
  'batchEmbedContents'
] as const

export type ContentOperation = (typeof operations)[number]

export interface OperationPath {
  /** The model name without the prefix `models/`. */
  model: string
  operation: ContentOperation
}

/**
 * Reads the part of a POST path after `/models/`, percent-decoded once, such as `gemini-x:countTokens`. The model id may contain
 * slashes and colons. Raises `unknown_url` for another operation, for a tuned model, and without a model.
 */
export function readOperationPath(rest: string): OperationPath {
  const { operation, model } = splitPath(rest)
  if (operation === undefined || model === undefined) throw new GatewayError('unknown_url')
  return { model, operation }
}

/** The operation behind the last colon of such a path; undefined when it names none. */
export function findOperation(rest: string): ContentOperation | undefined {
  return splitPath(rest).operation
}

/** Several stages of a request ask for the same path, and clients send few different ones. */
const splitPath = rememberTexts((rest: string): Partial<OperationPath> => {
  const colon = rest.lastIndexOf(':')
  const operation = operations.find(known => known === rest.slice(colon + 1))
  const model = readModelId(rest.slice(0, Math.max(0, colon)))
  return colon < 0 || operation === undefined ? {} : { operation, ...(model !== undefined && { model }) }
})

/**
 * The model id of a name, without one leading `models/`. Undefined when nothing is left, and for tuned models, which the gateway
 * does not have.
 */
export function readModelId(name: string): string | undefined {
  const id = name.startsWith('models/') ? name.slice('models/'.length) : name
  return id === '' || id.startsWith('tunedModels/') ? undefined : id
}
