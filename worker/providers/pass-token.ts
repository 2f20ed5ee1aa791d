// Upstream authorization that a client brings in its bearer token (operations.md 4.4).
import { Secret } from '../../shared/secrets/secret.ts'
import { GatewayError } from '../normalized/index.ts'
import type { UpstreamAuthorization } from './types.ts'

const PREFIX = 'upstream-'
const ACCESS_TOKEN_PREFIX = 'upstream-auth-'
const CREDENTIALS_PREFIX = 'upstream-cred-'
const USER_PREFIX = 'upstream-user-'

/** The scope of credentials that name none: fixed, so that it does not depend on the server's own account. */
const DEFAULT_SCOPE = 'GIGACHAT_API_PERS'

/** Whether a bearer token claims to be upstream authorization, well-formed or not. */
export function isPassToken(token: string): boolean {
  return token.startsWith(ACCESS_TOKEN_PREFIX) || token.startsWith(CREDENTIALS_PREFIX) || token.startsWith(USER_PREFIX)
}

/** Whether it claims so in any spelling of what follows the common prefix. */
export function resemblesPassToken(token: string): boolean {
  return token.startsWith(PREFIX)
}

/** Reads upstream authorization. Raises `invalid_upstream_authorization`, whose text never holds the token. */
export function readPassToken(token: string): UpstreamAuthorization {
  if (token.startsWith(ACCESS_TOKEN_PREFIX)) {
    return { type: 'access-token', accessToken: new Secret(nonBlank(token.slice(ACCESS_TOKEN_PREFIX.length))) }
  }
  if (token.startsWith(CREDENTIALS_PREFIX)) {
    const [credentials, scope] = splitAtColon(token.slice(CREDENTIALS_PREFIX.length))
    return {
      type: 'credentials',
      credentials: new Secret(nonBlank(credentials)),
      scope: scope === undefined ? DEFAULT_SCOPE : nonBlank(scope)
    }
  }
  if (token.startsWith(USER_PREFIX)) {
    const [user, password] = splitAtColon(token.slice(USER_PREFIX.length))
    return { type: 'user', user: nonBlank(user), password: new Secret(nonBlank(password)) }
  }
  throw malformed()
}

/** Only the first colon separates: a password may hold more of them. */
function splitAtColon(text: string): [before: string, after: string | undefined] {
  const colon = text.indexOf(':')
  return colon === -1 ? [text, undefined] : [text.slice(0, colon), text.slice(colon + 1)]
}

function nonBlank(text: string | undefined): string {
  if (text === undefined || text.trim() === '') throw malformed()
  return text
}

function malformed(): GatewayError {
  return new GatewayError('invalid_upstream_authorization')
}

/** The texts of an authorization that no output may show: as it was given, and the forms in which it is sent. */
export function listAuthorizationTexts(authorization: UpstreamAuthorization): string[] {
  switch (authorization.type) {
    case 'server':
      return []
    case 'access-token':
      return [authorization.accessToken.reveal()]
    case 'credentials': {
      const credentials = authorization.credentials.reveal()
      return [credentials, ...decodePair(credentials)]
    }
    case 'user': {
      const password = authorization.password.reveal()
      return [password, writePair(authorization.user, password)]
    }
  }
}

/** A user and a password as HTTP's basic authorization has them. */
export function writePair(user: string, password: string): string {
  return Buffer.from(`${user}:${password}`).toString('base64')
}

/** A shorter secret may be a word that occurs in any text. */
const CLIENT_SECRET_LENGTH_MIN = 8

/** The decoded `client_id:client_secret` and the secret alone; nothing for credentials of another form. */
export function decodePair(credentials: string): string[] {
  const pair = Buffer.from(credentials, 'base64').toString('latin1')
  const secret = /^[\x20-\x7e]+?:([\x20-\x7e]+)$/.exec(pair)?.[1]
  if (secret === undefined) return []
  return secret.length < CLIENT_SECRET_LENGTH_MIN ? [pair] : [pair, secret]
}
