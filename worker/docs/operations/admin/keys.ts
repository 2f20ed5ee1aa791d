// The keys of clients (keys.md 5).
import type { RouteDocument } from '../../operation.ts'
import type { JsonSchema } from '../../schema.ts'
import { closed, type Described, describe, integer, listOf, nullable, text } from './words.ts'

const number: JsonSchema = { type: 'number' }
const models: JsonSchema = {
  type: ['array', 'null'],
  items: text,
  description: 'Names of models, each exact or with a trailing `*`; null for all.'
}

const COUNTED = ['requests_per_minute', 'tokens_per_minute', 'concurrent_requests']
const withBudget = (budget: JsonSchema, type: JsonSchema['type'], description: string): JsonSchema => ({
  type,
  description,
  properties: { ...Object.fromEntries(COUNTED.map(name => [name, integer])), budget }
})
const limits = withBudget(
  closed({ amount: number, period: { enum: ['day', 'week', 'month', 'total'] } }),
  'object',
  'An absent member: there is no such limit.'
)
const usage = withBudget(
  closed({ cost: number, period_ends_at: nullable('string') }),
  ['object', 'null'],
  'What of each limit is used now; null while it is not known.'
)

const key = closed({
  name: text,
  origin: { enum: ['settings', 'file'] },
  group: nullable('string'),
  models,
  limits,
  usage,
  expires_at: nullable('string'),
  enabled: { type: 'boolean' },
  state: { enum: ['active', 'limited', 'over_budget', 'expired', 'disabled'] },
  last_used_at: { ...nullable('string'), description: 'Of a key with limits, since the start of the gateway.' },
  metadata: { type: 'object', additionalProperties: text }
})
const group = closed({
  name: text,
  models,
  limits,
  usage,
  keys: { ...integer, description: 'How many keys share the limits.' }
})
const inForce = {
  keys_revision: { ...nullable('string'), description: 'Of the keys file in force; null without one.' },
  currency: nullable('string')
}

export const keyOperations: readonly RouteDocument[] = (
  [
    {
      id: 'listKeys',
      tag: 'Admin / Keys',
      path: '/_admin/keys',
      summary: 'The keys of clients, their limits, and what is used of them now',
      description: 'Never a secret or a digest of one.',
      response: closed({ ...inForce, data: listOf(key), groups: listOf(group) })
    },
    {
      id: 'getKey',
      tag: 'Admin / Keys',
      path: '/_admin/keys/{name}',
      summary: 'One key, with its group',
      parameters: [{ name: 'name', in: 'path', required: true, description: 'The name of a key.', schema: text }],
      response: closed({ ...inForce, data: key, group: { anyOf: [group, { type: 'null' }] } }),
      statuses: [404]
    }
  ] as const satisfies readonly Described[]
).map(describe)
