// The description of one route: what it takes and gives, independent of the prefix under which it
// is mounted.
import { CLIENT_TAGS, type Operation } from '../operations/operation.ts'
import type { ErrorForm } from './error-responses.ts'
import type { JsonSchema } from './schema.ts'

/** The tags in the order in which they are shown (operations.md 2.6). */
export const TAGS = [
  ...CLIENT_TAGS,
  'System / Health',
  'System / Logs',
  'Admin / Traffic Logs',
  'Admin / Keys',
  'Admin / Stored Responses',
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

/** The word of the document for each method that it lists; `HEAD` is served wherever `GET` is. */
export const DOCUMENT_METHODS = {
  GET: 'get',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete'
} as const satisfies Record<Operation['method'], string>

export interface RouteDocument {
  /** Unique; a prefix is added to it. */
  id: string
  method: (typeof DOCUMENT_METHODS)[Operation['method']]
  /** Path without a prefix, such as `/models/{model}`. */
  path: string
  tag: Tag
  summary: string
  description?: string
  parameters?: readonly Parameter[]
  /**
   * A JSON body: the name of its schema, which becomes a component; `isOptional` where an empty
   * body is accepted.
   */
  body?: { name: string; schema: JsonSchema; isOptional?: true }
  /** Successful responses by status. */
  responses: Readonly<Record<number, SuccessResponse>>
  errors: {
    form: ErrorForm
    /** The error statuses of this operation itself, besides those of the form. */
    statuses: readonly number[]
  }
}

/** What the API document says of an operation beyond its entry in the table of operations. */
export interface OperationDetails extends Pick<RouteDocument, 'parameters' | 'body' | 'responses'> {
  /**
   * Statuses of errors, where they are not those of the other model requests or of the other
   * lookups.
   */
  statuses?: readonly number[]
}

/** The path parameter of a model. */
export const modelInPath: Parameter = {
  name: 'model',
  in: 'path',
  required: true,
  description: 'Id of the model or alias. It may contain slashes and colons, which are sent as they are.',
  schema: { type: 'string', minLength: 1 }
}
