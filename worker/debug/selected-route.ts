// The route of a translation: that of the request's model, or one that the debugging request names.

import { findPrefixed } from '../../shared/profile/profile-routes.ts'
import { type ChatConfiguration, type PlannedChat, planChat } from '../bridge/plan-chat.ts'
import { type ExecutionPlan, type RouteTable, resolveRoute } from '../bridge/resolve-route.ts'
import type { ClientProtocol, JsonObject, NormalizedRequest } from '../normalized/index.ts'
import type { ApiMode } from '../protocols/provider-face.ts'
import type { ProviderFaces } from '../protocols/registry.ts'
import { invalidDebugRequest } from './errors.ts'

/** What a debugging request says about the route. */
export interface RouteSelection {
  apiMode?: ApiMode
  /** A public alias, in place of the request's model. */
  alias?: string
  /** A profile for the request's own model, also where no alias of the profile has it. */
  profile?: string
}

export interface DebugEnvironment {
  settings: ChatConfiguration
  faces: ProviderFaces
}

const API_MODES: readonly unknown[] = ['v1', 'v2']

/**
 * Reads `api_mode`, `alias` and `profile`. Raises `invalid_request` for values of another form and
 * for names that are not configured.
 */
export function readSelection(body: JsonObject, { routes }: ChatConfiguration): RouteSelection {
  const { api_mode: apiMode = null } = body
  if (apiMode !== null && !API_MODES.includes(apiMode)) {
    throw invalidDebugRequest('Expected api_mode to be one of: v1, v2')
  }
  const alias = readName(body, 'alias')
  const profile = readName(body, 'profile')
  if (alias !== undefined && !isNamed(routes, alias)) {
    throw invalidDebugRequest('Expected alias to be a public alias of a profile')
  }
  if (profile !== undefined && findServedProfile(routes, profile) === undefined) {
    throw invalidDebugRequest('Expected profile to be the id of a profile')
  }
  return {
    ...(apiMode === null ? {} : { apiMode: apiMode as ApiMode }),
    ...(alias === undefined ? {} : { alias }),
    ...(profile === undefined ? {} : { profile })
  }
}

function readName(body: JsonObject, member: 'alias' | 'profile'): string | undefined {
  const value = body[member] ?? undefined
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  throw invalidDebugRequest(`Expected ${member} to be a string`)
}

/** A read request, and where it comes from. */
export interface RoutedRequest {
  request: NormalizedRequest
  /**
   * Undefined for a document that names none: then the support matrix is asked as for chat
   * completions.
   */
  protocol: ClientProtocol | undefined
  /** The client's body; absent for a document. */
  body?: JsonObject
}

/** Writes a request on the wire of its route, without any call. Raises the errors of the route. */
export function planSelected(
  { request, protocol = 'completions', body }: RoutedRequest,
  selection: RouteSelection & { apiMode: ApiMode },
  { settings, faces }: DebugEnvironment
): PlannedChat {
  const plan = selectPlan(request, selection, { settings, faces })
  return planChat(
    { protocol, apiMode: selection.apiMode, request, plan, ...(body === undefined ? {} : { body }) },
    settings,
    faces
  )
}

/** The plan of a request. Raises the errors of `resolveRoute`. */
export function selectPlan(
  request: NormalizedRequest,
  { alias, profile, apiMode }: RouteSelection & { apiMode: ApiMode },
  { settings, faces }: DebugEnvironment
): ExecutionPlan {
  const { routes } = settings
  if (alias !== undefined) return resolveRoute({ model: alias }, apiMode, { routes, faces })
  if (profile === undefined || isServedBy(routes, profile, request.model)) {
    return resolveRoute(request, apiMode, { routes, faces })
  }
  if (routes.dynamic?.profileId === profile) {
    return resolveRoute(request, apiMode, { routes: { aliases: new Map(), dynamic: routes.dynamic }, faces })
  }
  // The model has no alias there, so nothing is declared about it and nothing but the wire is
  // asked.
  const { model } = request
  const served = findServedProfile(routes, profile) ?? { profileId: profile, providerKind: '' }
  const plan = { ...served, apiMode, publicModel: model ?? '' }
  return { ...plan, slotKey: '', ...(model === undefined ? {} : { upstreamModel: model }) }
}

/** Whether the file has this name: as an alias, or behind a prefix. */
function isNamed({ aliases, prefixes = [] }: RouteTable, name: string): boolean {
  return aliases.has(name) || findPrefixed(prefixes, name) !== undefined
}

function isServedBy({ aliases, prefixes = [] }: RouteTable, profile: string, model: string | undefined): boolean {
  if (model === undefined) return false
  return (aliases.get(model) ?? findPrefixed(prefixes, model))?.profileId === profile
}

/** A profile, as far as it selects a face. */
export type ServedProfile = Pick<ExecutionPlan, 'profileId' | 'providerKind' | 'wire'>

/** The kind and the wire of a profile; undefined for a profile that serves nothing. */
export function findServedProfile(
  { aliases, prefixes = [], dynamic }: RouteTable,
  profile: string
): ServedProfile | undefined {
  if (dynamic?.profileId === profile) return { profileId: profile, providerKind: dynamic.providerKind }
  const route = [...prefixes, ...aliases.values()].find(({ profileId }) => profileId === profile)
  if (route === undefined) return undefined
  const { providerKind, wire } = route
  return { profileId: profile, providerKind, ...(wire !== undefined && { wire }) }
}

/** The provider's body with a fixed text in place of every file that would be uploaded first. */
export function showUpstreamBody({ written }: PlannedChat): JsonObject {
  const { body, attachments } = written
  if (attachments.length === 0) return body
  const shown = new Map(attachments.map(({ placeholder }, index) => [placeholder, `<attachment:${index}>`]))
  // Copied by way of JSON, because parts of the body are shared with the client's body.
  // Placeholders hold an id that no client knows.
  return JSON.parse(JSON.stringify(body), (_name, value) =>
    typeof value === 'string' ? (shown.get(value) ?? value) : value
  )
}
