// The words in which the documents of the admin API are written (operations.md 9). Its bodies are
// written here, so that the documentation does not load the admin room.
import type { Parameter, RouteDocument } from '../../operation.ts'
import type { JsonSchema } from '../../schema.ts'

export const text: JsonSchema = { type: 'string' }
export const integer: JsonSchema = { type: 'integer' }
export const object: JsonSchema = { type: 'object' }
export const nullable = (type: string): JsonSchema => ({ type: [type, 'null'] })
export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items })
export const anyJson: JsonSchema = {}

export function closed(properties: Readonly<Record<string, JsonSchema>>, optional: readonly string[] = []): JsonSchema {
  return { type: 'object', required: Object.keys(properties).filter(name => !optional.includes(name)), properties }
}

export const query = (name: string, description: string, schema: JsonSchema = text): Parameter => ({
  name,
  in: 'query',
  description,
  schema
})

export const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of a record: a UUID.',
  schema: text
}

export const OF_RECORD = [400, 404]

export interface Described
  extends Pick<RouteDocument, 'id' | 'path' | 'summary' | 'description' | 'parameters' | 'body'> {
  tag?: RouteDocument['tag']
  method?: RouteDocument['method']
  response?: JsonSchema
  content?: Readonly<Record<string, JsonSchema>>
  statuses?: readonly number[]
}

export function describe({
  method = 'get',
  tag = 'Admin / Traffic Logs',
  response,
  content,
  statuses = [],
  ...operation
}: Described): RouteDocument {
  return {
    ...operation,
    method,
    tag,
    responses: {
      200: {
        description: 'OK',
        content: { ...(response === undefined ? {} : { 'application/json': response }), ...content }
      }
    },
    errors: { form: 'system', statuses: [403, 503, ...(method === 'post' ? [408, 413, 415] : []), ...statuses] }
  }
}
