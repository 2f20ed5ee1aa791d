// One documented operation: what a route takes and gives, independent of the prefix under which it is mounted.
import type { ContentOperation } from '../protocols/content/client/path.ts'
import type { ErrorForm } from './error-responses.ts'
import type { JsonSchema } from './schema.ts'

/** The tags in the order in which they are shown (operations.md 2.6). */
export const TAGS = [
  'OpenAI / Chat Completions',
  'OpenAI / Responses',
  'OpenAI / Embeddings',
  'OpenAI / Models',
  'Gemini / Generate Content',
  'Gemini / Embeddings',
  'Gemini / Models',
  'Anthropic / Messages',
  'LiteLLM / Model Info',
  'System / Health',
  'System / Logs',
  'Admin / Traffic Logs',
  'Admin / Debug Translation'
] as const

export type Tag = (typeof TAGS)[number]

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  description: string
  schema: JsonSchema
  required?: true
}

/** The body of a response: the name of a schema, or a schema, by media type. */
export type ResponseContent = Readonly<Record<string, JsonSchema>>

export interface SuccessResponse {
  description: string
  /** Absent: no body. */
  content?: ResponseContent
  /** Names of `components.headers`, besides those of every response. */
  headers?: readonly string[]
}

export interface Operation {
  /** Unique; a prefix is added to it. */
  id: string
  method: 'get' | 'post'
  /** Path without a prefix, such as `/models/{model}`. */
  path: string
  /** What stands behind the model's name in the path, after a colon. */
  operation?: ContentOperation
  /** Only for routes of this family: the content protocol has model lists of its own. */
  family?: 'content'
  tag: Tag
  summary: string
  description?: string
  parameters?: readonly Parameter[]
  /** A JSON body: the name of its schema, which becomes a component; `isOptional` where an empty body is accepted. */
  body?: { name: string; schema: JsonSchema; isOptional?: true }
  /** Successful responses by status. */
  responses: Readonly<Record<number, SuccessResponse>>
  errors: {
    form: ErrorForm
    /** The statuses that this operation answers by itself, in addition to those of the form. */
    statuses: readonly number[]
  }
}

/** The path parameter of a model. */
export const modelInPath: Parameter = {
  name: 'model',
  in: 'path',
  required: true,
  description: 'Id of the model or alias. It may contain slashes and colons, which are sent as they are.',
  schema: { type: 'string', minLength: 1 }
}
