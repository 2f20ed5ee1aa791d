// Reads `generationConfig`: sampling, thinking and output format (content.md 2.1, 2.2 and 6).

import {
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type NormalizedRequest,
  type OutputFormat,
  type Reasoning,
  type Sampling
} from '../../../normalized/index.ts'
import {
  joinPath,
  keepDefined,
  readOptionalBoolean,
  readOptionalNumber,
  readOptionalObject,
  readOptionalString,
  wrongType
} from '../../shared/members/field.ts'
import { convertOpenApiSchema } from './openapi-schema.ts'
import { readMember, spell, toCamelCase } from './spelling.ts'

export type Generation = Pick<NormalizedRequest, 'sampling'> & { output?: OutputFormat; reasoning?: Reasoning }

/** Reads the members of `config`, the object at `path`. Raises `invalid_request` with the path of a wrong member. */
export function readGeneration(config: JsonObject, path: string): Generation {
  return {
    sampling: readSampling(config, path),
    ...keepDefined({ output: readOutputFormat(config, path), reasoning: readReasoning(config, path) })
  }
}

/** The numbers of a config: from the camel-case name to the name in the normalized form. */
const samplingNumbers: ReadonlyMap<string, Exclude<keyof Sampling, 'stop'>> = new Map([
  ['temperature', 'temperature'],
  ['topP', 'topP'],
  ['topK', 'topK'],
  ['maxOutputTokens', 'maxOutputTokens'],
  ['seed', 'seed'],
  ['presencePenalty', 'presencePenalty'],
  ['frequencyPenalty', 'frequencyPenalty']
])

function readSampling(config: JsonObject, path: string): Sampling {
  const sampling: Sampling = {}
  // The loop runs over the config, because it usually has only two or three of the possible members.
  for (const member of Object.keys(config)) {
    const name = toCamelCase(member)
    const target = samplingNumbers.get(name)
    if (target === undefined) continue
    const number = readNumber(config, name, path)
    if (number !== undefined) sampling[target] = number
  }
  const { maxOutputTokens } = sampling
  if (maxOutputTokens !== undefined && !(Number.isInteger(maxOutputTokens) && maxOutputTokens > 0)) {
    const at = joinPath(path, spell(config, 'maxOutputTokens'))
    throw invalidRequest(at, `'${at}' must be a positive integer.`)
  }
  const stop = readStop(config, path)
  if (stop !== undefined) sampling.stop = stop
  return sampling
}

/** Reads a number, which this wire may also write as text. */
function readNumber(source: JsonObject, name: string, path: string): number | undefined {
  const member = spell(source, name)
  const value = source[member]
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  return Number.isFinite(number) ? number : readOptionalNumber(source, member, path)
}

/** More strings are refused, as Google's service does. */
const STOP_STRINGS_MAX = 5

/** Reads the stop strings; empty ones are left out, because they would match everywhere. */
function readStop(config: JsonObject, path: string): string[] | undefined {
  const member = spell(config, 'stopSequences')
  const stops = config[member] ?? []
  const at = joinPath(path, member)
  if (!Array.isArray(stops)) throw wrongType(at, 'an array of strings', stops)
  if (stops.length > STOP_STRINGS_MAX)
    throw invalidRequest(at, `'${at}' must hold at most ${STOP_STRINGS_MAX} strings.`)
  const texts = stops.map((stop, index) => {
    if (typeof stop !== 'string') throw wrongType(`${at}[${index}]`, 'a string', stop)
    return stop
  })
  const kept = texts.filter(text => text !== '')
  return kept.length === 0 ? undefined : kept
}

function readReasoning(config: JsonObject, path: string): Reasoning | undefined {
  const member = spell(config, 'thinkingConfig')
  const thinking = readOptionalObject(config, member, path)
  if (thinking === undefined) return undefined
  const at = joinPath(path, member)
  const isVisible = readOptionalBoolean(thinking, spell(thinking, 'includeThoughts'), at) === true
  return { isVisible, ...readAmount(thinking, at) }
}

/** Reads how much the model shall think: the level as sent, else the budget and its effort. */
function readAmount(thinking: JsonObject, path: string): Pick<Reasoning, 'effort' | 'budgetTokens'> {
  const level = readOptionalString(thinking, spell(thinking, 'thinkingLevel'), path)?.toLowerCase()
  const budgetTokens = readNumber(thinking, 'thinkingBudget', path)
  if (level !== undefined && level !== '' && level !== 'thinking_level_unspecified') return { effort: level }
  if (budgetTokens === undefined) return {}
  return { budgetTokens, ...keepDefined({ effort: readEffort(thinking, budgetTokens, path) }) }
}

/** The effort of a budget; undefined when the model decides. */
function readEffort(thinking: JsonObject, budget: number, path: string): string | undefined {
  if (budget === AUTOMATIC_BUDGET) return undefined
  if (budget < 0) {
    const at = joinPath(path, spell(thinking, 'thinkingBudget'))
    throw invalidRequest(at, `'${at}' must be -1, 0 or a number of tokens.`)
  }
  if (budget === 0) return 'none'
  if (budget >= HIGH_BUDGET) return 'high'
  return budget >= MEDIUM_BUDGET ? 'medium' : 'low'
}

const AUTOMATIC_BUDGET = -1
/** Least tokens of a budget for each effort (content.md 2.2). */
const HIGH_BUDGET = 8000
const MEDIUM_BUDGET = 3000

/** Reads the output format by the table of content.md 6. */
function readOutputFormat(config: JsonObject, path: string): OutputFormat | undefined {
  const typeMember = spell(config, 'responseMimeType')
  const typeAt = joinPath(path, typeMember)
  const mimeType = readOptionalString(config, typeMember, path)?.trim().toLowerCase()
  const given = readSchema(config, path)
  switch (mimeType) {
    case undefined:
    case '':
    case 'text/plain':
      if (given !== undefined) throw invalidRequest(given.path, `A schema needs '${typeAt}' to be application/json.`)
      return mimeType === 'text/plain' ? { type: 'text' } : undefined
    case 'application/json':
      if (given === undefined) return { type: 'json-object', path: typeAt }
      return { type: 'json-schema', schema: given.schema }
    case 'text/x.enum':
      if (given === undefined) throw invalidRequest(typeAt, `'${typeAt}' is text/x.enum, but no schema is given.`)
      if (!Array.isArray(given.schema.enum)) throw invalidRequest(given.path, `'${given.path}' must have an enum.`)
      return { type: 'json-schema', schema: given.schema, wantsBareString: true }
    default:
      throw invalidRequest(typeAt, `'${typeAt}' must be text/plain, application/json or text/x.enum.`)
  }
}

function readSchema(config: JsonObject, path: string): { schema: JsonObject; path: string } | undefined {
  const member = spell(config, 'responseSchema')
  const jsonMember = spell(config, 'responseJsonSchema')
  const schema = readMember(config, 'responseSchema')
  const jsonSchema = readMember(config, 'responseJsonSchema')
  const at = joinPath(path, jsonSchema === undefined ? member : jsonMember)
  if (schema === undefined && jsonSchema === undefined) return undefined
  if (schema !== undefined && jsonSchema !== undefined) {
    throw invalidRequest(at, `An answer has either '${member}' or '${jsonMember}', not both.`)
  }
  const sent = schema ?? jsonSchema
  if (!isJsonObject(sent)) throw wrongType(at, 'an object', sent)
  return { schema: schema === undefined ? sent : convertOpenApiSchema(sent), path: at }
}
