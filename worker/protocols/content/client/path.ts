// Reads the model of a URL or a body (content.md 1.1). Which verb follows it in the URL is the table of operations' business.

import { GatewayError } from '../../../normalized/index.ts'

/**
 * The model id of a name, without one leading `models/`. Undefined when nothing is left, and for tuned models, which the gateway
 * does not have.
 */
export function readModelId(name: string): string | undefined {
  const id = name.startsWith('models/') ? name.slice('models/'.length) : name
  return id === '' || id.startsWith('tunedModels/') ? undefined : id
}

/** The model id that a path names. Raises `unknown_url` without one, and for a tuned model. */
export function readPathModel(name: string): string {
  const id = readModelId(name)
  if (id === undefined) throw new GatewayError('unknown_url')
  return id
}
