// The stored responses for operators (operations.md 9.8), which are mounted only with the admin API and a store.
import type { Parameter, RouteDocument } from '../operation.ts'
import type { JsonSchema } from '../schema.ts'

const text: JsonSchema = { type: 'string' }
const integer: JsonSchema = { type: 'integer' }
const nullable: JsonSchema = { type: ['string', 'null'] }
const items: JsonSchema = {
  type: 'array',
  items: { type: 'object' },
  description: 'Items as they are listed to their owner; of one above 64 KiB only `id` and `omitted_bytes`.'
}

const closed = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  required: Object.keys(properties),
  properties
})
const listOf = (schema: JsonSchema): JsonSchema => ({ type: 'array', items: schema })
const limit = (maximum: number): Parameter => ({
  name: 'limit',
  in: 'query',
  description: 'How many at most.',
  schema: { type: 'integer', minimum: 1, maximum, default: 100 }
})

function describe(
  operation: Pick<RouteDocument, 'id' | 'path' | 'summary' | 'description' | 'parameters'>,
  response: JsonSchema,
  statuses: readonly number[]
): RouteDocument {
  return {
    ...operation,
    method: 'get',
    tag: 'Admin / Stored Responses',
    responses: { 200: { description: 'OK', content: { 'application/json': response } } },
    errors: { form: 'system', statuses: [403, 422, 503, ...statuses] }
  }
}

export const threadOperations: readonly RouteDocument[] = [
  describe(
    {
      id: 'listThreads',
      path: '/_admin/threads',
      summary: 'Chains of stored responses and conversations, the one that was used last first',
      parameters: [
        limit(500),
        { name: 'cursor', in: 'query', description: 'The `next_cursor` of the page before.', schema: text }
      ]
    },
    closed({
      data: listOf(
        closed({
          id: { ...text, description: 'Of the first response, or of the conversation.' },
          kind: { enum: ['responses', 'conversation'] },
          owner: { ...text, description: 'The name of the key; empty without authentication.' },
          created_at: { type: 'string', format: 'date-time' },
          updated_at: { type: 'string', format: 'date-time' },
          turns: integer,
          bytes: integer,
          model: { ...text, description: 'Of the newest response; empty where there is none.' }
        })
      ),
      limit: integer,
      cursor: nullable,
      next_cursor: nullable
    }),
    [400]
  ),
  describe(
    {
      id: 'getThread',
      path: '/_admin/threads/{id}',
      summary: 'The responses of a thread with their content, oldest first',
      parameters: [
        { name: 'id', in: 'path', required: true, description: 'The id of a thread.', schema: text },
        limit(1000)
      ]
    },
    closed({
      data: listOf(
        closed({
          id: text,
          created_at: { type: 'string', format: 'date-time' },
          status: text,
          model: text,
          previous_response_id: nullable,
          input: items,
          output: items
        })
      ),
      limit: integer,
      has_more: { type: 'boolean' }
    }),
    [404]
  )
]
