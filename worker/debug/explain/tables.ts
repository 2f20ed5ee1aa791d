// What the parameter tables of the client faces say about the members of a body: the same tables that the readers apply.

import * as completions from '../../protocols/completions/client/schema.ts'
import { contentParameters, generationParameters } from '../../protocols/content/client/schema.ts'
import { messagesParameters } from '../../protocols/messages/client/schema.ts'
import { responsesParameters } from '../../protocols/responses/client/schema.ts'
import type { Parameter, ParameterTable } from '../../protocols/shared/parameters.ts'
import type { ExplainedFamily } from '../job.ts'
import type { Place } from './paths.ts'

const tables: Readonly<Record<ExplainedFamily, ParameterTable>> = {
  openai: completions.chatParameters,
  responses: responsesParameters,
  anthropic: messagesParameters,
  gemini: contentParameters,
  embeddings: completions.embeddingsParameters
}

/** The row of a member; undefined for a member without one. */
export function findParameter(family: ExplainedFamily, place: Place): Parameter | undefined {
  const [first, second, ...rest] = place.map(step => toCamelCase(family, step))
  if (typeof first !== 'string' || rest.length > 0) return undefined
  if (second === undefined) return find(tables[family], first)
  const isGeneration = family === 'gemini' && first === 'generationConfig' && typeof second === 'string'
  return isGeneration ? find(generationParameters, second) : undefined
}

function find(table: ParameterTable, name: string): Parameter | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** This protocol has two spellings of every name, and its tables one. */
function toCamelCase(family: ExplainedFamily, step: string | number): string | number {
  if (family !== 'gemini' || typeof step === 'number' || Object.hasOwn(contentParameters, step)) return step
  return step.replaceAll(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase())
}
