// The treatment of each parameter of an operation, as data: the reader of the body applies it and the documentation lists it
// (field lesson E1).

import {
  assertNever,
  type Diagnostics,
  type ErrorCode,
  GatewayError,
  invalidRequest,
  type JsonObject
} from '../../normalized/index.ts'

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
  /** The error code of a rejected parameter; `unsupported_parameter` by default. */
  rejection?: ErrorCode
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
 * Sorts the members of a body by their class; the members' own readers read the supported ones.
 * Raises the table's error for a rejected one that is not null, and `invalid_request` for a forbidden name.
 */
export function sortParameters(body: JsonObject, table: ParameterTable): SortedParameters {
  const sorted: SortedParameters = { ignored: {}, additional: {} }
  for (const name of Object.keys(body)) {
    const parameter = Object.hasOwn(table, name) ? table[name] : undefined
    if (parameter === undefined || parameter.isAdditionalField === true) {
      refuseForbiddenName(name, '')
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

/** Raises `invalid_request` when `source`, the object at `path`, has a member that would reach a prototype. */
export function refuseForbiddenNames(source: JsonObject, path: string): void {
  for (const name of Object.keys(source)) refuseForbiddenName(name, path)
}

function refuseForbiddenName(name: string, path: string): void {
  if (!FORBIDDEN_NAMES.includes(name)) return
  const param = path === '' ? name : `${path}.${name}`
  throw invalidRequest(param, `'${param}' is not allowed as a name.`)
}
