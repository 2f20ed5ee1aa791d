// The parts of OpenAPI 3.1.0 that the gateway's document uses, as a closed schema: a member that the specification does not have at
// its place is an error. Schemas are JSON Schema, which ajv checks against its own meta-schema.
import { z } from 'zod'

const schema = z.record(z.string(), z.unknown())
const reference = z.strictObject({ $ref: z.string().startsWith('#/components/') })
const content = z.record(z.string().regex(/^[a-z]+\/[a-z.+-]+(?:; charset=[\w-]+)?$/i), z.strictObject({ schema }))
const header = z.strictObject({ description: z.string(), required: z.boolean().optional(), schema })
const headers = z.record(z.string(), reference)
const response = z.strictObject({
  description: z.string().min(1),
  headers: headers.optional(),
  content: content.optional()
})

const parameter = z
  .strictObject({
    name: z.string().min(1),
    in: z.enum(['path', 'query', 'header']),
    description: z.string(),
    required: z.literal(true).optional(),
    schema
  })
  .refine(({ in: place, required }) => place !== 'path' || required === true, 'A path parameter is always required.')

const operation = z.strictObject({
  operationId: z.string().regex(/^[a-z][A-Za-z0-9]*$/),
  tags: z.array(z.string()).length(1),
  summary: z.string().min(1),
  description: z.string().optional(),
  parameters: z.array(parameter).optional(),
  requestBody: z.strictObject({ required: z.boolean(), content }).optional(),
  responses: z.record(z.string().regex(/^(?:[1-5]\d\d|[1-5]XX)$/), z.union([reference, response])),
  security: z.array(z.record(z.string(), z.tuple([]))).optional()
})

const securityScheme = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('http'), scheme: z.literal('bearer') }),
  z.strictObject({ type: z.literal('apiKey'), in: z.enum(['header', 'query']), name: z.string() })
])

const componentName = z.string().regex(/^[A-Za-z0-9._-]+$/)

export const openApiStructure = z.strictObject({
  openapi: z.literal('3.1.0'),
  info: z.strictObject({ title: z.string(), version: z.string(), description: z.string() }),
  tags: z.array(z.strictObject({ name: z.string() })),
  paths: z.record(
    z.string().startsWith('/'),
    z.strictObject({ get: operation.optional(), post: operation.optional() })
  ),
  components: z.strictObject({
    schemas: z.record(componentName, schema),
    responses: z.record(componentName, response),
    headers: z.record(componentName, header),
    securitySchemes: z.record(componentName, securityScheme).optional()
  })
})
