// Reads the URL: the model and, after the last colon, the operation (content.md 1.1).

import { GatewayError } from '../../../normalized/index.ts'

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
  const operation = findOperation(rest)
  const model = operation === undefined ? undefined : readModelId(rest.slice(0, rest.lastIndexOf(':')))
  if (operation === undefined || model === undefined) throw new GatewayError('unknown_url')
  return { model, operation }
}

/** The operation behind the last colon of such a path; undefined when it names none. */
export function findOperation(rest: string): ContentOperation | undefined {
  const colon = rest.lastIndexOf(':')
  return colon < 0
    ? undefined
    : operations.find(known => rest.endsWith(known) && rest.length === colon + 1 + known.length)
}

/**
 * The model id of a name, without one leading `models/`. Undefined when nothing is left, and for tuned models, which the gateway
 * does not have.
 */
export function readModelId(name: string): string | undefined {
  const id = name.startsWith('models/') ? name.slice('models/'.length) : name
  return id === '' || id.startsWith('tunedModels/') ? undefined : id
}
