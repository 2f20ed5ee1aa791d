// The treatment of each parameter of an operation, as data: the reader of the body applies it and
// the documentation lists it (field-lessons.md E1).

import { isDeepStrictEqual } from 'node:util'
import {
  assertNever,
  type Diagnostics,
  type ErrorCode,
  GatewayError,
  invalidRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type RequestFeature
} from '../../../normalized/index.ts'

export type ParameterClass =
  /** Has an effect. */
  | 'supported'
  /** Accepted without effect; listed in the request's diagnostics. */
  | 'accepted_ignored'
  /** Refused with 400. */
  | 'rejected'
  /** An option of the SDK that does not belong in a body: not used, sent or stored, because it may be a secret. */
  | 'not_applicable'

export interface Parameter {
  class: ParameterClass
  /** A supported parameter that is sent to the provider under its own name, as an additional field. */
  isAdditionalField?: true
  /**
   * Values of a parameter without effect that ask for nothing, so that no provider refuses them; `any` for a parameter that never does.
   * Null, false, an empty list and an empty object never ask for anything.
   */
  harmless?: 'any' | readonly JsonValue[]
  /** The error code of a rejected parameter; `unsupported_parameter` by default. */
  rejection?: ErrorCode
  /** The feature of a request that the parameter asks for: each provider declares whether it sends, ignores or refuses it. */
  feature?: RequestFeature
  /**
   * Why an external provider refuses a parameter without effect instead of leaving it out: its loss would change the results, or lose
   * content or a state (decisions.md 69).
   */
  refusal?: string
  /** The table names only some members of this object, and the others are no foreign names. */
  isOpen?: true
  /** Details for the documentation. */
  note?: string
}

export type ParameterTable = Readonly<Record<string, Parameter>>

export interface SortedParameters {
  ignored: Diagnostics
  /** Members that are not in the table, and those that it marks as additional fields. */
  additional: JsonObject
}

/** Names that would change the prototype of the object they are copied to. */
const FORBIDDEN_NAMES = ['__proto__', 'constructor', 'prototype']

/**
 * Most members of one object that belong to the provider. A provider has some dozen options of its own; an object with very many
 * members is slow to copy, and it is copied on the way to the provider's body.
 */
const ADDITIONAL_MEMBERS_MAX = 1000

/**
 * Sorts the members of a body by their class; the members' own readers read the supported ones.
 * Raises the table's error for a rejected one that is not null, and `invalid_request` for a forbidden name and for too many unknown
 * members.
 */
export function sortParameters(body: JsonObject, table: ParameterTable): SortedParameters {
  const sorted: SortedParameters = { ignored: {}, additional: {} }
  let additionalCount = 0
  for (const name of Object.keys(body)) {
    const parameter = findParameter(table, name)
    if (parameter === undefined || parameter.isAdditionalField === true) {
      refuseForbiddenName(name, '')
      additionalCount += 1
      if (additionalCount > ADDITIONAL_MEMBERS_MAX) throw tooManyMembers(name, 'The body')
      sorted.additional[name] = body[name]
      continue
    }
    switch (parameter.class) {
      case 'supported':
        break
      case 'accepted_ignored':
        sorted.ignored[name] = body[name]
        break
      case 'rejected':
        // SDKs send null for a parameter that the caller did not set.
        if (body[name] === null) break
        throw new GatewayError(parameter.rejection ?? 'unsupported_parameter', {
          param: name,
          message: `'${name}' is not supported.`
        })
      case 'not_applicable':
        sorted.ignored[name] = null
        break
      default:
        assertNever(parameter.class)
    }
  }
  return sorted
}

function findParameter(table: ParameterTable, name: string): Parameter | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** Whether a value asks for nothing: null, false, an empty list, an empty object, and what the row says (decisions.md 70). */
export function asksForNothing(value: JsonValue, { harmless }: Pick<Parameter, 'harmless'>): boolean {
  return value === null || harmless === 'any' || isEmpty(value) || isOneOf(value, harmless)
}

function isEmpty(value: JsonValue): boolean {
  if (value === false) return true
  if (Array.isArray(value)) return value.length === 0
  return isJsonObject(value) && Object.keys(value).length === 0
}

function isOneOf(value: JsonValue, harmless: readonly JsonValue[] = []): boolean {
  return harmless.some(one => isDeepStrictEqual(one, value))
}

/** Raises `invalid_request` when `source`, the object at `path`, has too many members or one that would reach a prototype. */
export function refuseForbiddenNames(source: JsonObject, path: string): void {
  refuseManyMembers(source, path)
  for (const name of Object.keys(source)) refuseForbiddenName(name, path)
}

/** Raises `invalid_request` when `source`, the object at `path`, has so many members that copying it would be slow. */
export function refuseManyMembers(source: JsonObject, path: string, table: object = {}): void {
  const names = Object.keys(source)
  // Nearly every body ends here, so that the table is counted only for the others.
  if (names.length <= ADDITIONAL_MEMBERS_MAX) return
  const membersMax = ADDITIONAL_MEMBERS_MAX + Object.keys(table).length
  if (names.length <= membersMax) return
  throw path === '' ? tooManyMembers(names[membersMax] ?? '', 'The body') : tooManyMembers(path, `'${path}'`)
}

function tooManyMembers(param: string, place: string): GatewayError {
  return invalidRequest(param, `${place} has more than ${ADDITIONAL_MEMBERS_MAX} additional members.`)
}

function refuseForbiddenName(name: string, path: string): void {
  if (!FORBIDDEN_NAMES.includes(name)) return
  const param = path === '' ? name : `${path}.${name}`
  throw invalidRequest(param, `'${param}' is not allowed as a name.`)
}
