// Members of a client's body that belong to the gateway or to an SDK and not to the wire, on their way to a provider of the client's own
// wire (decisions.md 72).

import { GatewayError, isJsonObject, type JsonObject } from '../../../normalized/index.ts'
import type { JsonEdits } from '../json/edits.ts'
import { extraMembers, REPLAY_MARK, sdkOption, sdkOptions } from './common-parameters.ts'
import type { ParameterTable } from './parameters.ts'

/** They may be secrets, and belong to no wire. */
const ownParameters: ParameterTable = { ...extraMembers, ...sdkOptions, auth_token: sdkOption }

/** Members with which a client chooses another model or provider behind the alias: nothing falls back in silence (specification.md 1.1). */
const otherRoutes = ['models', 'fallbacks', 'route'] as const
const OTHER_ROUTES: ReadonlySet<string> = new Set(otherRoutes)

/** The `extra_body` of SDKs, whose members are meant to be members of the body. */
const EXTRA = 'extra_body'

/**
 * Leaves out the members of SDKs and of the gateway and those that choose another route, and puts the members of an `extra_body` in its place.
 * Raises `unsupported_parameter` for one that is no object.
 * @param decided members that an `extra_body` may not set, because the gateway has decided on them.
 * @returns the client's fields that have no effect although they ask for something.
 */
export function editOwnMembers(body: JsonObject, edits: JsonEdits, decided: ReadonlySet<string>): string[] {
  for (const name of Object.keys(body)) if (name !== EXTRA && Object.hasOwn(ownParameters, name)) edits.drop(name)
  const { metadata } = body
  if (isJsonObject(metadata) && Object.hasOwn(metadata, REPLAY_MARK)) {
    if (Object.keys(metadata).length === 1) edits.drop('metadata')
    else edits.drop('metadata', REPLAY_MARK)
  }
  const routes = otherRoutes.filter(name => Object.hasOwn(body, name))
  for (const name of routes) edits.drop(name)
  const leftOut = Object.hasOwn(body, EXTRA) ? spreadExtra(body, edits, decided) : []
  return [...leftOut, ...routes.filter(name => body[name] !== null)]
}

function spreadExtra(body: JsonObject, edits: JsonEdits, decided: ReadonlySet<string>): string[] {
  const extra = body[EXTRA]
  if (extra === null) edits.drop(EXTRA)
  if (extra === null || extra === undefined) return []
  if (!isJsonObject(extra)) {
    throw new GatewayError('unsupported_parameter', { param: EXTRA, message: `'${EXTRA}' must be an object.` })
  }
  const isRefused = (name: string) => decided.has(name) || OTHER_ROUTES.has(name) || Object.hasOwn(ownParameters, name)
  const [refused, taken] = [true, false].map(is => Object.keys(extra).filter(name => isRefused(name) === is))
  edits.spread([EXTRA], new Set(refused))
  // An SDK lets them win over the members of the body.
  for (const name of taken ?? []) if (Object.hasOwn(body, name)) edits.drop(name)
  return (refused ?? []).filter(name => extra[name] !== null).map(name => `${EXTRA}.${name}`)
}
