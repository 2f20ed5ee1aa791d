// Generates the OpenAPI document from the routes that are mounted: each route finds its description
// by method and path, and a description without a route is left out (operations.md 2.6;
// decisions.md 29).

import { headers, referToErrors, writeErrorResponses, writeHeaders } from './error-responses.ts'
import type { KeyCarrier, MountedRoute } from './mounted-routes.ts'
import { type Operation, type SuccessResponse, TAGS } from './operation.ts'
import { adminOperations } from './operations/admin.ts'
import { type ExampleModels, writeModelOperations } from './operations/chat.ts'
import { debugOperations } from './operations/debug.ts'
import { bridgeOperations, modelOperations } from './operations/models.ts'
import { systemOperations } from './operations/system.ts'
import './responses/all.ts'
import { type JsonSchema, schemaReference, writeNamedSchemas } from './schema.ts'

export interface OpenApiOptions {
  title: string
  version: string
  routes: readonly MountedRoute[]
  /** Whether the gateway key is needed. */
  isKeyNeeded: boolean
  exampleModels: ExampleModels
  /** Whether a provider kind passes on responses as they came. */
  hasRelay: boolean
}

export interface OpenApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  tags: Array<{ name: string }>
  paths: Record<string, Record<string, JsonSchema>>
  components: {
    schemas: Record<string, JsonSchema>
    responses: Record<string, JsonSchema>
    headers: Readonly<Record<string, JsonSchema>>
    securitySchemes?: Record<string, JsonSchema>
  }
}

const DESCRIPTION =
  'HEAD is served wherever GET is. Paths below `/v1` and `/v2` are the same operations on that contract of the native upstream; the ' +
  'others use the configured one. Every parameter of a request body says what the gateway does with it, also as ' +
  '`x-compatibility`: `supported`, `accepted_ignored`, `rejected` or `not_applicable`.'

/** Writes the document of the mounted routes. Routes without a description are not listed (see `findUndescribed`). */
export function createOpenApiDocument(options: OpenApiOptions): OpenApiDocument {
  const { title, version, routes, isKeyNeeded } = options
  const operations = listOperations(options)
  const paths: OpenApiDocument['paths'] = {}
  const tags = new Set<string>()
  for (const route of routes) {
    for (const operation of findOperations(operations, route)) {
      const path = operation.operation === undefined ? route.template : `${route.template}:${operation.operation}`
      tags.add(operation.tag)
      paths[path] = { ...paths[path], [operation.method]: writeOperation(operation, route, isKeyNeeded) }
    }
  }
  return {
    openapi: '3.1.0',
    info: { title, version, description: DESCRIPTION },
    tags: TAGS.filter(tag => tags.has(tag)).map(name => ({ name })),
    paths: sortPaths(paths, operations),
    components: {
      schemas: selectUsed(paths, { ...writeNamedSchemas(), ...listBodies(operations) }),
      responses: writeErrorResponses(new Set(listReferences(paths))),
      headers,
      ...writeSecuritySchemes(options)
    }
  }
}

function listBodies(operations: readonly Operation[]): Record<string, JsonSchema> {
  return Object.fromEntries(operations.flatMap(({ body }) => (body === undefined ? [] : [[body.name, body.schema]])))
}

/** Mounted routes that no description fits, for the test that there are none. */
export function findUndescribed(options: OpenApiOptions): string[] {
  const operations = listOperations(options)
  return options.routes
    .filter(route => findOperations(operations, route).length === 0)
    .map(({ method, template }) => `${method} ${template}`)
}

function listOperations({ exampleModels, hasRelay }: OpenApiOptions): Operation[] {
  return [
    ...writeModelOperations(exampleModels, { hasRelay }),
    ...modelOperations,
    ...systemOperations,
    ...bridgeOperations,
    ...adminOperations,
    ...debugOperations
  ]
}

/** The descriptions of a route: one, or one for each operation that its path names behind a colon. */
function findOperations(operations: readonly Operation[], route: MountedRoute): Operation[] {
  const isOfContent = route.family === 'content'
  return operations.filter(
    ({ method, path, family }) =>
      method === route.method && path === route.path && (family === 'content') === isOfContent
  )
}

function writeOperation(operation: Operation, route: MountedRoute, isKeyNeeded: boolean): JsonSchema {
  const { id, tag, summary, description, parameters, body, responses, errors } = operation
  const { form } = errors
  const successes = Object.entries(responses).map(([status, response]) => [status, writeSuccess(response, operation)])
  return {
    operationId: id + route.prefix.replaceAll(/\/(\w)/g, (_match, first: string) => first.toUpperCase()),
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.isOptional !== true,
            content: { 'application/json': { schema: { $ref: schemaReference(body.name) } } }
          }
        }),
    responses: { ...referToErrors(form, errors.statuses), ...Object.fromEntries(successes) },
    ...writeSecurity(route, isKeyNeeded)
  }
}

function writeSuccess(
  { description, content, headers: names = [] }: SuccessResponse,
  { errors }: Operation
): JsonSchema {
  return {
    description,
    headers: writeHeaders(errors.form, names),
    ...(content === undefined
      ? {}
      : {
          content: Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]))
        })
  }
}

/** The carriers of the gateway key (operations.md 4.1). */
const KEY_SCHEMES: Readonly<Record<KeyCarrier, JsonSchema>> = {
  bearer: { type: 'http', scheme: 'bearer' },
  headerKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  googleHeaderKey: { type: 'apiKey', in: 'header', name: 'x-goog-api-key' },
  queryApiKey: { type: 'apiKey', in: 'query', name: 'x-api-key' },
  queryKey: { type: 'apiKey', in: 'query', name: 'key' }
}

const ADMIN_SCHEMES: Readonly<Record<string, JsonSchema>> = {
  adminKey: { type: 'apiKey', in: 'header', name: 'x-admin-api-key' }
}

function writeSecurity({ access }: MountedRoute, isKeyNeeded: boolean): { security?: JsonSchema[] } {
  if (access === 'admin-key') return { security: [{ adminKey: [] }] }
  if (!isKeyNeeded) return {}
  return { security: access === 'api-key' ? Object.keys(KEY_SCHEMES).map(name => ({ [name]: [] })) : [] }
}

function writeSecuritySchemes({
  routes,
  isKeyNeeded
}: OpenApiOptions): Pick<OpenApiDocument['components'], 'securitySchemes'> {
  const hasAdminRoutes = routes.some(({ access }) => access === 'admin-key')
  if (!isKeyNeeded && !hasAdminRoutes) return {}
  return { securitySchemes: { ...(isKeyNeeded ? KEY_SCHEMES : {}), ...(hasAdminRoutes ? ADMIN_SCHEMES : {}) } }
}

/** In the order of the tags, then of the descriptions, then of the prefixes: the shortest path first. */
function sortPaths(paths: OpenApiDocument['paths'], operations: readonly Operation[]): OpenApiDocument['paths'] {
  const ranks = new Map(operations.map(({ id, tag }, index) => [id, TAGS.indexOf(tag) * operations.length + index]))
  const rankOf = (path: string) => {
    const ids = Object.values(paths[path] ?? {}).map(({ operationId }) =>
      String(operationId).replace(/(?:V[12](?:beta)?)+$/, '')
    )
    return Math.min(...ids.map(id => ranks.get(id) ?? Number.MAX_SAFE_INTEGER))
  }
  const sorted = Object.keys(paths).sort(
    (left, right) => rankOf(left) - rankOf(right) || left.length - right.length || (left < right ? -1 : 1)
  )
  return Object.fromEntries(sorted.map(path => [path, paths[path] ?? {}]))
}

/** The schemas that the paths refer to, directly or through others; error bodies are always among them. */
function selectUsed(paths: OpenApiDocument['paths'], schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const used = new Set<string>()
  const pending = [...listReferences(paths), ...listReferences(writeErrorResponses(new Set(listReferences(paths))))]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const name = next.replace('#/components/schemas/', '')
    if (used.has(name) || schemas[name] === undefined) continue
    used.add(name)
    pending.push(...listReferences(schemas[name]))
  }
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
}

/** Every `$ref` inside a value. */
export function listReferences(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(listReferences)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === '$ref' && typeof member === 'string' ? [member] : listReferences(member)
  )
}
