// What a translation loses: members without effect, features that the provider of the route does
// not have, and what a client's format cannot express, found by reading the written body again.

import { isDeepStrictEqual } from 'node:util'
import {
  findFeatureUse,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type NormalizedRequest,
  requestFeatures
} from '../normalized/index.ts'
import type { ApiMode } from '../protocols/provider-face.ts'
import { findProviderFace } from '../protocols/registry.ts'
import { type ClientFormat, protocolsByFormat, readClientRequest, readModelMember } from './formats.ts'
import type { DebugContext } from './job.ts'
import { writeRequestDocument } from './normalized/write-request.ts'
import { type DebugEnvironment, type RouteSelection, selectPlan } from './selected-route.ts'

export interface Loss {
  /** A field of the client's body for `ignored`, else a member of the normalized document. */
  path: string
  effect: 'ignored' | 'dropped' | 'changed'
}

/** Beyond this the list is cut: the two requests have little in common. */
const LOSSES_MAX = 200

/** The members of the client's body that are accepted without effect. */
export function listIgnored({ ignored }: NormalizedRequest): Loss[] {
  return Object.keys(ignored)
    .slice(0, LOSSES_MAX)
    .map(path => ({ path, effect: 'ignored' }))
}

/** The fields of the client that the provider of the route ignores. */
export function listUnsent(
  request: NormalizedRequest,
  selection: RouteSelection & { apiMode: ApiMode },
  environment: DebugEnvironment
): Loss[] {
  const { accepts } = findProviderFace(environment.faces, selectPlan(request, selection, environment))
  return requestFeatures.flatMap(feature => {
    const path = accepts.features[feature] === 'ignored' ? findFeatureUse(request, feature) : undefined
    return path === undefined ? [] : [{ path, effect: 'ignored' as const }]
  })
}

/**
 * Members that say how the client wrote the request, or where: they differ between formats without
 * any loss.
 */
const FORMAL: ReadonlySet<string> = new Set([
  'schema_version',
  'request_id',
  'protocol',
  'operation',
  'path',
  'member',
  'form',
  'echo',
  'ignored',
  'stream',
  'arguments_text',
  'parameters_text',
  'sent_type',
  'has_error_flag',
  'uses_legacy_functions',
  'wants_stream_usage'
])

/** The members of a document that the written body has lost or changed. */
export function findLosses(
  document: JsonObject,
  format: ClientFormat,
  written: JsonObject,
  context: DebugContext
): Loss[] {
  let read: NormalizedRequest
  try {
    const isStream = document.stream === true
    read = readClientRequest(format, written, context, { model: readModelMember(written), isStream })
  } catch (thrown) {
    // The format's own route would refuse the body, such as a conversation that ends with a call.
    if (GatewayError.is(thrown)) return [{ path: '', effect: 'changed' }]
    throw thrown
  }
  const losses: Loss[] = []
  compare(document, writeRequestDocument(read, protocolsByFormat[format]), '', losses)
  return losses
}

function compare(before: JsonValue, after: JsonValue | undefined, path: string, losses: Loss[]): void {
  if (losses.length >= LOSSES_MAX || isDeepStrictEqual(before, after)) return
  if (after === undefined) losses.push({ path, effect: 'dropped' })
  else if (isJsonObject(before) && isJsonObject(after)) {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined || FORMAL.has(name)) continue
      compare(value, after[name], path === '' ? name : `${path}.${name}`, losses)
    }
  } else if (Array.isArray(before) && Array.isArray(after)) {
    for (const [index, value] of before.entries()) compare(value, after[index], `${path}[${index}]`, losses)
  } else losses.push({ path, effect: 'changed' })
}
