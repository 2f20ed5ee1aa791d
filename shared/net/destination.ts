// Brings an upstream base URL into its canonical form, or rejects it (bridge.md 4.4, stage A).
import { isIPv4 } from 'node:net'

/** Bounds of the domain name system, in characters of the ASCII form (RFC 1035). */
const NAME_LENGTH_MAX = 253
const LABEL_LENGTH_MAX = 63

/**
 * Checks the raw text of a base URL and returns the canonical spelling: lower-case scheme and host, no default port, no trailing
 * slash and no trailing dot of the host. Returns undefined when the text breaks a rule; the caller writes the error message, which
 * must not repeat the text.
 */
export function canonicalDestination(text: string): string | undefined {
  // The URL parser silently corrects control characters, backslashes, dot segments and empty `?`,
  // `#` and `@` parts. All of them are refused, so they are looked for in the raw text.
  if (text !== text.trim() || hasControlCharacter(text) || /[\\?#@]/.test(text)) return undefined
  const shape = /^https?:\/\/([^/]+)(\/.*)?$/i.exec(text)
  if (shape === null) return undefined
  if ((shape[2] ?? '').split('/').some(isDotSegment)) return undefined
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const host = url.hostname.replace(/\.$/, '')
  if (!isIPv6Literal(host) && !isHostName(host)) return undefined
  const port = url.port === '' ? '' : `:${url.port}`
  return `${url.protocol}//${host}${port}${url.pathname.replace(/\/+$/, '')}`
}

/** The URL parser accepts empty and overlong labels, which no name server can resolve. */
function isHostName(host: string): boolean {
  return (
    host.length <= NAME_LENGTH_MAX && host.split('.').every(label => label !== '' && label.length <= LABEL_LENGTH_MAX)
  )
}

function isIPv6Literal(host: string): boolean {
  return host.startsWith('[')
}

/** Whether a URL leads to this machine by its host: `localhost`, a name below it, or a loopback address. */
export function isLoopbackDestination(url: string): boolean {
  const { hostname } = new URL(url)
  if (isIPv4(hostname)) return hostname.startsWith('127.')
  return hostname === '[::1]' || /^(.+\.)?localhost\.?$/.test(hostname)
}

function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true
  }
  return false
}

function isDotSegment(segment: string): boolean {
  const plain = segment.replace(/%2e/gi, '.')
  return plain === '.' || plain === '..'
}
