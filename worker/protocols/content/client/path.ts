// What the URL says: the model and, behind its last colon, the operation (content.md 1.1).

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
  /** As a client writes it in a body, without `models/` in front. */
  model: string
  operation: ContentOperation
}

/**
 * Reads what stands behind `/models/` in the path of a POST, percent-decoded once, such as `gemini-x:countTokens`. The id may hold
 * slashes and colons. Raises `unknown_url` for another operation, for a tuned model, and where there is no model at all.
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
 * The id of the model that a path or a client names, without one leading `models/`. Undefined when nothing is left, and for tuned
 * models, which do not exist here.
 */
export function readModelId(name: string): string | undefined {
  const id = name.startsWith('models/') ? name.slice('models/'.length) : name
  return id === '' || id.startsWith('tunedModels/') ? undefined : id
}
