// Which proxy the connections to an origin take (providers.md 1, row `proxy`).

import { isIP } from 'node:net'
import { type AddressRange, isInRanges, readAddressRange } from '../../../../shared/net/addresses.ts'
import type { ProviderProfile } from '../../../../shared/profile/profile.ts'
import type { Secret } from '../../../../shared/secrets/secret.ts'

/** A proxy, and what authorizes the gateway to use it. */
export interface ProxyServer {
  /** Scheme, host and port. */
  readonly origin: string
  /** The value of the header `proxy-authorization`. */
  readonly authorization?: string
}

/** The proxy variables of the environment, as the settings read them. */
export interface ProxyVariables {
  readonly httpProxy?: string | undefined
  readonly httpsProxy?: string | undefined
  /** What is reached without a proxy. */
  readonly noProxy?: readonly string[] | undefined
}

/**
 * Reads a proxy.
 * @param url an http or https URL. User information in it, in encoded form, is the credential.
 * @param credential `user:password`, which wins over that of the URL.
 */
export function readProxy(url: string, credential?: string): ProxyServer {
  const { origin, username, password } = new URL(url)
  const ofUrl = username === '' ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const pair = credential ?? ofUrl
  if (pair === undefined) return { origin }
  return { origin, authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** The proxy of the environment for an origin: that of its scheme, unless `NO_PROXY` names its host. */
export function chooseProxy(variables: ProxyVariables, origin: string, credential?: string): ProxyServer | undefined {
  const url = origin.startsWith('https:') ? variables.httpsProxy : variables.httpProxy
  if (url === undefined || isWithoutProxy(origin, variables.noProxy ?? [])) return undefined
  return readProxy(url, credential)
}

export interface ProfileProxyOptions {
  /** The variables of the environment. */
  variables: ProxyVariables
  readSecret: (variable: string) => Secret | undefined
  /** What holds where the profile says nothing. */
  absent: 'none' | 'environment'
}

/** The proxy of a profile for one of the origins that it calls. */
export function chooseProfileProxy(
  { proxy, proxyCredentialEnv }: Pick<ProviderProfile, 'proxy' | 'proxyCredentialEnv'>,
  origin: string,
  { variables, readSecret, absent }: ProfileProxyOptions
): ProxyServer | undefined {
  const choice = proxy ?? absent
  if (choice === 'none') return undefined
  const credential = proxyCredentialEnv === undefined ? undefined : readSecret(proxyCredentialEnv)?.reveal()
  return choice === 'environment' ? chooseProxy(variables, origin, credential) : readProxy(choice, credential)
}

/** The texts of a proxy's credential that no output may show: the pair, the password, and what is sent of both. */
export function listProxySecrets({ authorization }: ProxyServer): string[] {
  if (authorization === undefined) return []
  const encoded = authorization.slice('Basic '.length)
  const pair = Buffer.from(encoded, 'base64').toString()
  return [pair, pair.slice(pair.indexOf(':') + 1), encoded].filter(text => text !== '')
}

/**
 * Whether an entry of `NO_PROXY` names the host of an origin: `*`, a name (which stands for the names below it too, with or without a
 * leading dot), `*.name` (only the names below it), an address or a CIDR range; each may have a port, and an IPv6 address with
 * one stands in brackets. No name is resolved: a range covers hosts that are written as addresses.
 */
export function isWithoutProxy(origin: string, entries: readonly string[]): boolean {
  const { hostname, port, protocol } = new URL(origin)
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const ownPort = port === '' ? DEFAULT_PORTS[protocol] : port
  return entries
    .flatMap(entry => entry.split(/\s+/))
    .map(readEntry)
    .some(entry => (entry.port === undefined || entry.port === ownPort) && matchesHost(entry, host))
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

interface Entry {
  host: string
  port?: string | undefined
  range?: AddressRange | undefined
}

function readEntry(text: string): Entry {
  // A bare IPv6 address has several colons, none of which is that of a port.
  const shape = /^\[([^\]]*)\](?::(\d+))?$/.exec(text) ?? /^([^:]*):(\d+)$/.exec(text)
  const host = (shape?.[1] ?? text).toLowerCase().replace(/\.$/, '')
  return { host, port: shape?.[2], range: readAddressRange(host) }
}

function matchesHost({ host: entry, range }: Entry, host: string): boolean {
  if (entry === '*') return true
  if (range !== undefined) return isInRanges(host, [range])
  if (isIP(host) !== 0) return false
  if (entry.startsWith('*.')) return host.endsWith(entry.slice(1))
  const name = entry.replace(/^\./, '')
  return name !== '' && (host === name || host.endsWith(`.${name}`))
}
