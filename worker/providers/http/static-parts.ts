// The headers and parameters that a profile sends with every call to its provider (providers.md 1,
// row `headers`, `query`).

import type { ProviderProfile, TextOrVariable } from '../../../shared/profile/profile.ts'
import type { Secret } from '../../../shared/secrets/secret.ts'

/** They stand in place of what the gateway or a client would send under the same name. */
export interface StaticParts {
  /** Names and values in turn. */
  readonly headers: readonly string[]
  /** In lower case. */
  readonly headerNames: ReadonlySet<string>
  /** In encoded form; '' for none. */
  readonly query: string
  readonly queryNames: ReadonlySet<string>
}

type StaticMembers = Pick<ProviderProfile, 'headers' | 'query'>
type ReadSecret = (variable: string) => Secret | undefined

/** Reads the static parts of a profile; undefined where it has none. */
export function readStaticParts({ headers = {}, query = {} }: StaticMembers, readSecret: ReadSecret) {
  const [headerTexts, queryTexts] = [readTexts(headers, readSecret), readTexts(query, readSecret)]
  if (headerTexts.length + queryTexts.length === 0) return undefined
  const parts: StaticParts = {
    headers: headerTexts.flat(),
    headerNames: new Set(headerTexts.map(([name]) => name.toLowerCase())),
    query: queryTexts.map(pair => pair.map(encodeURIComponent).join('=')).join('&'),
    queryNames: new Set(queryTexts.map(([name]) => name))
  }
  return parts
}

/** The values that no output may show: those of variables. */
export function listStaticSecrets({ headers = {}, query = {} }: StaticMembers, readSecret: ReadSecret): string[] {
  return [headers, query]
    .flatMap(texts => Object.values(texts))
    .flatMap(text => (typeof text === 'string' ? [] : (readSecret(text.env)?.reveal() ?? [])))
}

/** A profile without a route makes no call, and none of its variables was read. */
function readTexts(
  texts: Readonly<Record<string, TextOrVariable>>,
  readSecret: ReadSecret
): Array<[name: string, text: string]> {
  return Object.entries(texts).flatMap(([name, given]): Array<[string, string]> => {
    const text = typeof given === 'string' ? given : readSecret(given.env)?.reveal()
    return text === undefined ? [] : [[name, text]]
  })
}

/**
 * Adds the headers to those of a call.
 * @param headers names and values in turn; the first one is the user agent, which stays the first.
 */
export function addStaticHeaders({ headers: own, headerNames }: StaticParts, headers: readonly string[]): string[] {
  const isOwnAgent = headerNames.has('user-agent')
  const merged: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2)
    if (!headerNames.has(name.toLowerCase())) merged.push(name, value)
  }
  for (let index = 0; index < own.length; index += 2) {
    const [name = '', value = ''] = own.slice(index, index + 2)
    if (isOwnAgent && name.toLowerCase() === 'user-agent') merged.unshift(name, value)
    else merged.push(name, value)
  }
  return merged
}

/** Adds the parameters to the query of a path. */
export function addStaticQuery({ query, queryNames }: StaticParts, path: string): string {
  if (query === '') return path
  const [bare = '', given] = path.split('?', 2)
  const kept = given === undefined ? [] : given.split('&').filter(pair => !queryNames.has(readName(pair)))
  return `${bare}?${[...kept, query].join('&')}`
}

function readName(pair: string): string {
  return new URLSearchParams(pair).keys().next().value ?? ''
}
