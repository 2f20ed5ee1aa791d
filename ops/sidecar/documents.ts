// Reads the gateway's machine documents as a supervisor does: schema id, state and revisions, and nothing that it does not need.

import { StepFailure } from './step-failure.ts'

/** The revisions that every document of one gateway must agree on. */
export interface Revisions {
  config: string
  matrix: string
}

// biome-ignore lint/suspicious/noExplicitAny: a document from outside; every member that is used is checked where it is read.
export type Document = any

export const publicProtocols = [
  'openai_chat_completions',
  'openai_responses',
  'anthropic_messages',
  'gemini_generate_content'
] as const

/** What the client of a route may rely on, and the traffic of this sequence does. */
const neededCapabilities = ['text_input', 'streaming', 'usage_tokens'] as const

const revision = /^sha256:[0-9a-f]{64}$/

/** Reads the one line of a preflight. Throws StepFailure unless it is a valid `gateway.inspect.v1`. */
export function readInspection(output: string): { revisions: Revisions; aliases: string[] } {
  const lines = output.split('\n')
  if (lines.length !== 2 || lines[1] !== '') throw new StepFailure('stdout is not exactly one line')
  const document = parse(lines[0] ?? '')
  requireSchema(document, 'gateway.inspect.v1')
  if (document.valid !== true) throw new StepFailure('the document is not valid')
  // biome-ignore lint/suspicious/noExplicitAny: see `Document`.
  const models = document.profiles.flatMap((profile: any) => profile.models)
  return {
    revisions: readRevisions(document),
    aliases: models.filter((model: Document) => model.enabled).map((model: Document) => model.public_alias)
  }
}

/** Throws StepFailure with the reasons of a readiness that is not ready. */
export function checkReadiness(document: Document, revisions: Revisions): void {
  requireSchema(document, 'gateway.readiness.v1')
  if (document.ready !== true) {
    const reasons = document.reasons.map((reason: Document) => reason.reason_id)
    throw new StepFailure(`not ready: ${reasons.join(', ')}`)
  }
  requireRevisions(document, revisions)
}

/** Throws StepFailure unless the model is listed and available. */
export function checkModels(document: Document, model: string, revisions: Revisions): void {
  requireSchema(document, 'gateway.bridge-models.v3')
  requireRevisions(document, revisions)
  const found = document.models.find((entry: Document) => entry.id === model)
  if (found === undefined) throw new StepFailure(`the model ${model} is not listed`)
  if (found.available !== true) throw new StepFailure(`the model ${model} is not available`)
}

/** Throws StepFailure unless the model has every needed capability in this protocol. */
export function checkCapabilities(
  document: Document,
  expected: { model: string; protocol: string; revisions: Revisions }
): void {
  const { model, protocol, revisions } = expected
  requireSchema(document, 'gateway.effective-capabilities.v1')
  if (document.model !== model || document.public_protocol !== protocol)
    throw new StepFailure('the document is about another model or protocol')
  requireRevisions(document, revisions)
  if (!revision.test(document.capability_revision)) throw new StepFailure('capability_revision is missing')
  for (const name of neededCapabilities) {
    const { state, reason_id: reason } = document.capabilities[name] ?? {}
    if (state !== 'supported') throw new StepFailure(`${protocol}: ${name} is ${state} (${reason})`)
  }
}

export function parse(text: string): Document {
  try {
    return JSON.parse(text)
  } catch {
    throw new StepFailure('the document is not JSON')
  }
}

function requireSchema(document: Document, schema: string): void {
  if (document?.schema_version === schema) return
  const code = document?.error?.code === undefined ? '' : ` (${document.error.code})`
  throw new StepFailure(`the document is ${document?.schema_version}, not ${schema}${code}`)
}

function readRevisions(document: Document): Revisions {
  const { config_revision: config, matrix_revision: matrix } = document
  if (!revision.test(config) || !revision.test(matrix)) throw new StepFailure('a revision is missing')
  return { config, matrix }
}

function requireRevisions(document: Document, revisions: Revisions): void {
  const { config, matrix } = readRevisions(document)
  if (config !== revisions.config) throw new StepFailure('config_revision differs from the preflight')
  if (matrix !== revisions.matrix) throw new StepFailure('matrix_revision differs from the preflight')
}
