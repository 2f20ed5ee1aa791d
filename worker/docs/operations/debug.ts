// The debugging routes (operations.md 10), which are mounted only where a setting switches them on.
// Their bodies are written here, so that the documentation does not load the room that checks them.
import type { RouteDocument } from '../operation.ts'
import type { JsonSchema } from '../schema.ts'

const object: JsonSchema = { type: 'object' }
const text: JsonSchema = { type: 'string' }
const apiMode: JsonSchema = { enum: ['v1', 'v2'] }

/** The formats in any case, as the endpoint reads them. */
const format: JsonSchema = {
  type: 'string',
  description: 'anthropic, gemini, normalized, openai, responses or upstream.'
}

const selection = {
  api_mode: { ...apiMode, description: 'The contract of the native upstream; absent: the configured one.' },
  alias: { ...text, description: 'A public alias, in place of the model of the payload.' },
  profile: { ...text, description: 'The id of a profile, for the model of the payload.' }
}

interface Described {
  id: string
  path: string
  summary: string
  description?: string
  body: JsonSchema
  /** The members of the response. */
  response: Readonly<Record<string, JsonSchema>>
  optional?: readonly string[]
}

function describe({ id, path, summary, description, body, response, optional = [] }: Described): RouteDocument {
  const required = Object.keys(response).filter(name => !optional.includes(name))
  return {
    id,
    method: 'post',
    path,
    tag: 'Admin / Debug Translation',
    summary,
    ...(description === undefined ? {} : { description }),
    body: { name: `${id.charAt(0).toUpperCase()}${id.slice(1)}Request`, schema: body },
    responses: {
      200: {
        description: 'Nothing was sent to a provider.',
        content: { 'application/json': { type: 'object', required, properties: response } }
      }
    },
    errors: { form: 'system', statuses: [400, 403, 408, 413, 415, 503] }
  }
}

const translations: readonly Described[] = [
  {
    id: 'translateBody',
    path: '/_debug/translate',
    summary: 'Translate a body between formats',
    body: {
      type: 'object',
      required: ['from', 'to', 'payload'],
      properties: {
        from: format,
        to: format,
        payload: object,
        requested_model: text,
        ...selection,
        stream: { type: 'boolean', description: 'For `gemini`, whose path says so.' },
        loss: { type: 'boolean', description: 'Adds `loss`: what the translation ignores, drops or changes.' }
      }
    },
    response: { from: text, to: text, payload: object, intermediate: object, loss: { type: 'array' } },
    optional: ['intermediate', 'loss']
  },
  {
    id: 'normalizeOpenai',
    path: '/_debug/translate/openai-to-normalized',
    summary: 'Normalize a chat completions body',
    body: object,
    response: { source: text, target: text, normalized: object }
  },
  {
    id: 'normalizeAnthropic',
    path: '/_debug/translate/anthropic-to-normalized',
    summary: 'Normalize a messages body',
    body: object,
    response: { source: text, target: text, normalized: object }
  },
  {
    id: 'translateNormalized',
    path: '/_debug/translate/normalized-to-upstream',
    summary: 'Write a normalized request as the upstream gets it',
    body: { type: 'object', properties: { normalized: object, ...selection } },
    response: { source: text, target: text, openai_payload: object, upstream_payload: object }
  },
  {
    id: 'translateResponse',
    path: '/_debug/translate/upstream-to-openai',
    summary: 'Read a response of the upstream as a client gets it',
    body: { type: 'object', properties: { response: object, requested_model: text, ...selection } },
    response: { source: text, target: text, normalized: object, openai: object }
  }
]

const field: JsonSchema = {
  type: 'object',
  required: ['path', 'verdict', 'reason'],
  properties: {
    path: text,
    verdict: { enum: ['exact', 'translated', 'ignored', 'refused'] },
    reason: text,
    upstream: text,
    code: text,
    param: text
  }
}

function describeExplanation(path: string, family: string, id: string): RouteDocument {
  const operation = describe({
    id,
    path: `${path}/${family}`,
    summary: `Explain a body of ${family}`,
    description: 'Says of every field whether it is exact, translated, ignored or refused on the route of the model.',
    body: object,
    response: {
      family: text,
      accepted: { type: 'boolean' },
      error: object,
      route: object,
      fields: { type: 'array', items: field },
      complete: { type: 'boolean' },
      cut: { type: 'string', enum: ['time'] }
    },
    optional: ['error', 'route']
  })
  const { statuses } = operation.errors
  return {
    ...operation,
    parameters: [
      { name: 'api_mode', in: 'query', description: 'The contract of the native upstream.', schema: apiMode },
      { name: 'key_name', in: 'query', description: 'Name of the key whose models count.', schema: text },
      { name: 'model', in: 'query', description: 'For gemini, whose path names it.', schema: text },
      { name: 'stream', in: 'query', description: 'For gemini: `true` for a stream.', schema: { type: 'boolean' } }
    ],
    errors: { form: 'system', statuses: [...statuses, 422] }
  }
}

const families = ['openai', 'responses', 'anthropic', 'gemini', 'embeddings']

export const debugOperations: readonly RouteDocument[] = [
  ...translations.map(describe),
  ...families.flatMap(family => {
    const name = `${family.charAt(0).toUpperCase()}${family.slice(1)}`
    return [
      describeExplanation('/_debug/explain', family, `explain${name}`),
      describeExplanation('/debug/explain', family, `explain${name}Unprefixed`)
    ]
  })
]
