// Finds what differs between two upstream bodies, and whether a client's value stands there
// unchanged.

import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonValue } from '../../normalized/index.ts'
import { findAt, listInner, type Place } from './paths.ts'

export interface Found {
  place: Place
  value: JsonValue
}

/** The smallest parts of `base` that `other` does not have in the same place. */
export function listDifferences(base: JsonValue, other: JsonValue | undefined, place: Place = []): Found[] {
  if (isDeepStrictEqual(base, other)) return []
  if (isJsonObject(base) && isJsonObject(other)) {
    return listInner(base).flatMap(({ step, value }) => listDifferences(value, other[step], [...place, step]))
  }
  if (!Array.isArray(base) || !Array.isArray(other)) return [{ place, value: base }]
  if (base.length === other.length) {
    return base.flatMap((value, index) => listDifferences(value, other[index], [...place, index]))
  }
  // One list has more elements: those that both have in front and at the end are the same.
  const shorter = Math.min(base.length, other.length)
  let start = 0
  while (start < shorter && isDeepStrictEqual(base[start], other[start])) start++
  let end = 0
  while (end < shorter - start && isDeepStrictEqual(base.at(-1 - end), other.at(-1 - end))) end++
  return base.slice(start, base.length - end).map((value, index) => ({ place: [...place, start + index], value }))
}

/** Short and common values occur by chance, so they count only in a member of the same name. */
const COMMON_CHARACTERS_MAX = 1

/**
 * Where a value stands unchanged: in one of the places, or as a whole that one of the places is a
 * part of. A member of the same name is preferred, and of several the one whose path has most in
 * common with the field's own.
 */
export function findUnchanged(
  wanted: JsonValue,
  { places, whole }: { places: readonly Found[]; whole: JsonValue },
  own: Place
): Place | undefined {
  let found: Place | undefined
  let named: Place | undefined
  let mostShared = 0
  for (const { place, value } of places) {
    for (const candidate of listCandidates(wanted, { place, value }, whole)) {
      found ??= candidate
      if (candidate.at(-1) !== own.at(-1)) continue
      const shared = candidate.filter(step => own.includes(step)).length
      if (shared <= mostShared) continue
      mostShared = shared
      named = candidate
    }
  }
  return named ?? (isCommon(wanted) ? undefined : found)
}

function* listCandidates(wanted: JsonValue, { place, value }: Found, whole: JsonValue): Generator<Place> {
  yield* findEqual(wanted, value, place)
  if (typeof wanted !== 'object') return
  for (let length = place.length - 1; length > 0; length--) {
    const holder = place.slice(0, length)
    if (isDeepStrictEqual(wanted, findAt(whole, holder))) yield holder
  }
}

function isCommon(value: JsonValue): boolean {
  return typeof value === 'object'
    ? listInner(value).length === 0
    : typeof value === 'boolean' || String(value).length <= COMMON_CHARACTERS_MAX
}

function* findEqual(wanted: JsonValue, value: JsonValue, place: Place): Generator<Place> {
  if (isDeepStrictEqual(wanted, value)) {
    yield place
    return
  }
  for (const inner of listInner(value)) yield* findEqual(wanted, inner.value, [...place, inner.step])
}
