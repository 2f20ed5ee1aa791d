// What happens to each parameter of an operation, as data: it decides what the reader does with a member of the body, and what
// the documentation says about it (field lesson E1).

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
  /** Taken without complaint and without effect; shown in the request's diagnostics. */
  | 'accepted_ignored'
  /** Refused with 400. */
  | 'rejected'
  /** An option of the SDK that has no place in a body: neither used, nor sent on, nor kept, for it may be a secret. */
  | 'not_applicable'

export interface Parameter {
  class: ParameterClass
  /** A supported parameter that the provider gets under its own name, as an additional field. */
  isAdditionalField?: true
  /** The error of a rejected parameter where `unsupported_parameter` is not the word for it. */
  rejection?: ErrorCode
  /** What the class does not say, for the documentation. */
  note?: string
}

export type ParameterTable = Readonly<Record<string, Parameter>>

export interface SortedParameters {
  ignored: Diagnostics
  /** Members that no table knows, and those it marks as additional fields. */
  additional: JsonObject
}

/** A key of these would reach into the prototype of whatever object it is copied to. */
const FORBIDDEN_NAMES = ['__proto__', 'constructor', 'prototype']

/**
 * Sorts the members of a body by their class; the supported ones are left to their readers.
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
        // null is how SDKs write that they say nothing.
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

/** Raises `invalid_request` when `source`, which stands at `path`, has a member that would reach a prototype. */
export function refuseForbiddenNames(source: JsonObject, path: string): void {
  for (const name of Object.keys(source)) refuseForbiddenName(name, path)
}

function refuseForbiddenName(name: string, path: string): void {
  if (!FORBIDDEN_NAMES.includes(name)) return
  const param = path === '' ? name : `${path}.${name}`
  throw invalidRequest(param, `'${param}' is not allowed as a name.`)
}
