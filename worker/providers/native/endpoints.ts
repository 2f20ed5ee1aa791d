// The URLs of the native upstream's calls: both API bases and the token endpoints, derived once
// from the two configured URLs (upstream.md 1.1).

/** An origin and a path on it, as the HTTP client takes them. */
export interface Endpoint {
  origin: string
  path: string
}

export interface NativeEndpoints {
  /** Scheme, host and port of the API. */
  apiOrigin: string
  /** Path of v1 chat and of every call that is not chat; '' or beginning with a slash, never ending with one. */
  v1Base: string
  /** Path of v2 chat; equal to `v1Base` when the configured base names no version. */
  v2Base: string
  /** The OAuth server's token endpoint. */
  oauth: Endpoint
  /** The token endpoint for a user and a password. */
  passwordToken: Endpoint
}

/**
 * Derives the endpoints from `UPSTREAM_BASE_URL` and `UPSTREAM_AUTH_URL`, both already checked as URLs.
 * A version at the end of the base is replaced, so that `…/v2` does not send v1 calls to the v2 path.
 */
export function resolveEndpoints(baseUrl: string, authUrl: string): NativeEndpoints {
  const base = new URL(baseUrl)
  const auth = new URL(authUrl)
  const path = base.pathname.replace(/\/+$/, '')
  const isVersioned = VERSION_SUFFIX.test(path)
  const v1Base = isVersioned ? path.replace(VERSION_SUFFIX, '/v1') : path
  const v2Base = isVersioned ? path.replace(VERSION_SUFFIX, '/v2') : path
  return {
    apiOrigin: base.origin,
    v1Base,
    v2Base,
    oauth: { origin: auth.origin, path: `${auth.pathname}${auth.search}` },
    passwordToken: { origin: base.origin, path: `${v1Base}/token` }
  }
}

const VERSION_SUFFIX = /\/v\d+$/
