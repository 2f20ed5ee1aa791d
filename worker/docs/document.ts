// Generates the OpenAPI document from the routes that are mounted: an operation of a client
// protocol has its description by its id, a system route by its method and path. A description
// without a route is left out (operations.md 2.6; decisions.md 29).

import type { Operation } from '../operations/operation.ts'
import { headers, referToErrors, writeErrorResponses, writeHeaders } from './error-responses.ts'
import type { KeyCarrier, MountedRoute } from './mounted-routes.ts'
import { type RouteDocument, type SuccessResponse, TAGS } from './operation.ts'
import { adminOperations } from './operations/admin/all.ts'
import { type ExampleModels, writeClientDocuments } from './operations/client.ts'
import { debugOperations } from './operations/debug.ts'
import { bridgeOperations } from './operations/models.ts'
import { systemOperations } from './operations/system.ts'
import { threadOperations } from './operations/threads.ts'
import './responses/all.ts'
import { type JsonSchema, schemaReference, writeNamedSchemas } from './schema.ts'

export interface OpenApiOptions {
  title: string
  version: string
  routes: readonly MountedRoute[]
  /** The operations that are served. */
  operations: readonly Operation[]
  /** Whether the gateway key is needed. */
  isKeyNeeded: boolean
  /** Whether a keys file is in force. */
  hasKeysFile: boolean
  exampleModels: ExampleModels
  /** Whether a provider kind passes on responses as they came. */
  hasRelay: boolean
}

/** What a document lists: every path that is served, or each operation once, at its usual path, with its other paths in words. */
export type DocumentView = 'every-path' | 'operations'

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
  '`x-compatibility`: `supported`, `accepted_ignored`, `rejected` or `not_applicable`. On a provider of another wire some of them have ' +
  'no effect: the response header `x-gateway-ignored` names those of a request, and `/_debug/explain` says it beforehand. The guide ' +
  '`ops/guides/members.md` has the word of each member on each wire. A client that sends `x-gateway-unsupported: refuse` gets 400 ' +
  'with the name of the first such member instead.'

/**
 * Writes the document of the mounted routes. Routes without a description are not listed (see
 * `findUndescribed`).
 */
export function createOpenApiDocument(options: OpenApiOptions, view: DocumentView = 'every-path'): OpenApiDocument {
  const { title, version, routes } = options
  const documents = listDocuments(options)
  const find = createDocumentFinder(documents)
  const places = listPlaces(routes, find)
  const paths: OpenApiDocument['paths'] = {}
  const tags = new Set<string>()
  /** The place of a path: that of the first description in the order of the tags. */
  const ranks = new Map<string, number>()
  for (const route of routes) {
    const index = find(route)
    const document = documents[index]
    if (document === undefined) continue
    const { template } = route
    const templates = places.get(find(usualSpelling(route))) ?? []
    if (view === 'operations' && template !== templates[0]) continue
    const others = view === 'operations' ? templates.slice(1) : []
    const rank = TAGS.indexOf(document.tag) * documents.length + index
    tags.add(document.tag)
    ranks.set(template, Math.min(rank, ranks.get(template) ?? rank))
    paths[template] = { ...paths[template], [document.method]: writeOperation(document, route, { ...options, others }) }
  }
  return {
    openapi: '3.1.0',
    info: { title, version, description: DESCRIPTION },
    tags: TAGS.filter(tag => tags.has(tag)).map(name => ({ name })),
    paths: sortPaths(paths, ranks),
    components: {
      schemas: selectUsed(paths, { ...writeNamedSchemas(), ...listBodies(documents) }),
      responses: writeErrorResponses(new Set(listReferences(paths))),
      headers,
      ...writeSecuritySchemes(options)
    }
  }
}

function listBodies(documents: readonly RouteDocument[]): Record<string, JsonSchema> {
  return Object.fromEntries(documents.flatMap(({ body }) => (body === undefined ? [] : [[body.name, body.schema]])))
}

/** Mounted routes that no description fits, for the test that there are none. */
export function findUndescribed(options: OpenApiOptions): string[] {
  const find = createDocumentFinder(listDocuments(options))
  return options.routes.filter(route => find(route) === -1).map(({ method, template }) => `${method} ${template}`)
}

function listDocuments({ operations, exampleModels, hasRelay }: OpenApiOptions): RouteDocument[] {
  return [
    ...writeClientDocuments(operations, exampleModels, { hasRelay }),
    ...systemOperations,
    ...bridgeOperations,
    ...adminOperations,
    ...threadOperations,
    ...debugOperations
  ]
}

/** Finds the index of a route's description; -1 without one. */
function createDocumentFinder(documents: readonly RouteDocument[]): (route: MountedRoute) => number {
  const nameRoute = ({ method, path }: Pick<RouteDocument, 'method' | 'path'>) => `${method} ${path}`
  const byId = new Map(documents.map(({ id }, index) => [id, index]))
  const byRoute = new Map(documents.map((document, index) => [nameRoute(document), index]))
  return route => (route.operation === undefined ? byRoute.get(nameRoute(route)) : byId.get(route.operation.id)) ?? -1
}

/** The paths of each operation, the usual one first: that which the SDKs of its protocol ask for. */
function listPlaces(
  routes: readonly MountedRoute[],
  find: (route: MountedRoute) => number
): ReadonlyMap<number, readonly string[]> {
  const places = new Map<number, string[]>()
  for (const route of routes) {
    const index = find(usualSpelling(route))
    places.set(index, [...(places.get(index) ?? []), route.template])
  }
  const rankOf = (template: string) => {
    const rank = USUAL_PREFIXES.findIndex(prefix => template.startsWith(prefix))
    return rank === -1 ? USUAL_PREFIXES.length : rank
  }
  for (const templates of places.values()) {
    templates.sort((one, other) => rankOf(one) - rankOf(other) || one.length - other.length || (one < other ? -1 : 1))
  }
  return places
}

/** The explanations have two spellings. */
function usualSpelling(route: MountedRoute): MountedRoute {
  return route.path.startsWith('/debug/') ? { ...route, path: `/_${route.path.slice(1)}` } : route
}

/** Only operations of the content protocol have the first one. */
const USUAL_PREFIXES = ['/v1beta/', '/v1/', '/_debug/']

function writeOperation(
  document: RouteDocument,
  route: MountedRoute,
  { others, ...keys }: KeyNeeds & { others: readonly string[] }
): JsonSchema {
  const { id, tag, summary, parameters, body, responses, errors } = document
  const places = others.length === 0 ? undefined : `Also at ${others.map(path => `\`${path}\``).join(', ')}.`
  const description = [document.description, places].filter(text => text !== undefined).join('\n\n') || undefined
  const { form } = errors
  const successes = Object.entries(responses).map(([status, response]) => [status, writeSuccess(response, document)])
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
    ...writeSecurity(route, keys)
  }
}

function writeSuccess(
  { description, content, headers: names = [] }: SuccessResponse,
  { errors }: RouteDocument
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

type KeyNeeds = Pick<OpenApiOptions, 'isKeyNeeded' | 'hasKeysFile'>

function writeSecurity({ access }: MountedRoute, { isKeyNeeded, hasKeysFile }: KeyNeeds): { security?: JsonSchema[] } {
  if (access === 'admin-key') return { security: [{ adminKey: [] }] }
  if (!isKeyNeeded) return {}
  const isOpen = access === 'open' || (access === 'file-key' && !hasKeysFile)
  return { security: isOpen ? [] : Object.keys(KEY_SCHEMES).map(name => ({ [name]: [] })) }
}

function writeSecuritySchemes({
  routes,
  isKeyNeeded
}: OpenApiOptions): Pick<OpenApiDocument['components'], 'securitySchemes'> {
  const hasAdminRoutes = routes.some(({ access }) => access === 'admin-key')
  if (!isKeyNeeded && !hasAdminRoutes) return {}
  return { securitySchemes: { ...(isKeyNeeded ? KEY_SCHEMES : {}), ...(hasAdminRoutes ? ADMIN_SCHEMES : {}) } }
}

/**
 * In the order of the tags, then of the descriptions, then of the prefixes: the shortest path
 * first.
 */
function sortPaths(paths: OpenApiDocument['paths'], ranks: ReadonlyMap<string, number>): OpenApiDocument['paths'] {
  const rankOf = (path: string) => ranks.get(path) ?? 0
  const sorted = Object.keys(paths).sort(
    (left, right) => rankOf(left) - rankOf(right) || left.length - right.length || (left < right ? -1 : 1)
  )
  return Object.fromEntries(sorted.map(path => [path, paths[path] ?? {}]))
}

/**
 * The schemas that the paths refer to, directly or through others; error bodies are always among
 * them.
 */
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
