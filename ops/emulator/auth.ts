// Issues tokens (for OAuth client credentials, and for user and password) and checks them on API calls.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isRandomUuid } from './ids.ts'
import type { EmulatorSettings } from './settings.ts'

const TOKENS_MAX = 10_000
const knownScopes = ['GIGACHAT_API_PERS', 'GIGACHAT_API_B2B', 'GIGACHAT_API_CORP']

export interface AuthOptions {
  settings: EmulatorSettings
  now: () => number
  /** Accepted base64 credentials; `null`: all well-formed credentials. */
  credentials: readonly string[] | null
  /** Accepted users with their passwords; `null`: all users. */
  users: Readonly<Record<string, string>> | null
  /** Scopes that the credentials may request; `null`: every known scope. */
  scopes: readonly string[] | null
}

export interface AuthResponse {
  status: number
  body: Record<string, unknown>
}

interface Token {
  account: string
  /** Infinity for a token that was registered without a lifetime. */
  expiresAtMs: number
  isRevoked: boolean
}

export type Authorization = { account: string } | { refusal: string }

export interface Authority {
  /** The response of `POST /api/v2/oauth`: a token, or a refusal with the OAuth server's code. */
  grantOauthToken: (input: { headers: IncomingHttpHeaders; form: URLSearchParams }) => AuthResponse
  /** The response of `POST <base>/token`: a token, or 401. */
  grantUserToken: (headers: IncomingHttpHeaders) => AuthResponse
  /** Checks the `Authorization` header of an API call. */
  authorize: (header: string | undefined) => Authorization
  /** Makes a token valid that this emulator has not issued. */
  register: (token: string, lifetimeMs?: number) => void
  /** Revokes the given token, or every token; returns the number of revoked tokens. */
  expire: (token?: string) => number
}

function refuse(status: number, code: number, message: string): AuthResponse {
  return { status, body: { code, message } }
}

/** Reads `Basic <base64 of name:secret>`; undefined when it cannot be decoded. */
function readBasic(header: string | undefined): { encoded: string; name: string; secret: string } | undefined {
  const match = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header ?? '')
  if (match?.[1] === undefined) return undefined
  const decoded = Buffer.from(match[1], 'base64').toString('utf8')
  const colon = decoded.indexOf(':')
  if (colon < 1) return undefined
  return { encoded: match[1], name: decoded.slice(0, colon), secret: decoded.slice(colon + 1) }
}

/** Creates the token authority of one emulator; it keeps the newest 10 000 tokens. */
export function createAuthority(options: AuthOptions): Authority {
  const { settings, now } = options
  const tokens = new Map<string, Token>()

  const store = (value: string, token: Token) => {
    tokens.set(value, token)
    if (tokens.size > TOKENS_MAX) {
      const oldest = tokens.keys().next().value
      if (oldest !== undefined) tokens.delete(oldest)
    }
  }
  const issue = (account: string): { value: string; expiresAtMs: number } => {
    const value = randomBytes(900).toString('base64url')
    const expiresAtMs = now() + settings.tokenLifetimeMs
    store(value, { account, expiresAtMs, isRevoked: false })
    return { value, expiresAtMs }
  }
  const writeShortForm = (token: { value: string; expiresAtMs: number }) => ({
    tok: token.value,
    exp: settings.expInSeconds ? Math.floor(token.expiresAtMs / 1000) : token.expiresAtMs
  })

  return {
    grantOauthToken({ headers, form }) {
      const requestId = headers.rquid
      if (typeof requestId !== 'string' || !isRandomUuid(requestId)) {
        return refuse(400, 2, 'RqUID header is missing or not a uuid4')
      }
      const basic = readBasic(headers.authorization)
      if (basic === undefined) return refuse(401, 4, "Can't decode 'Authorization' header")
      if (options.credentials !== null && !options.credentials.includes(basic.encoded)) {
        return refuse(401, 6, "credentials doesn't match db data")
      }
      const scope = form.get('scope')
      if (scope === null || scope === '') return refuse(400, 5, 'scope is empty')
      if (!knownScopes.includes(scope)) return refuse(400, 1, 'scope data format invalid')
      if (options.scopes !== null && !options.scopes.includes(scope)) {
        return refuse(400, 7, 'scope from db not fully includes consumed scope')
      }
      const token = issue(`client:${basic.name}`)
      if (settings.oauthForm === 'alternative') return { status: 200, body: writeShortForm(token) }
      return { status: 200, body: { access_token: token.value, expires_at: token.expiresAtMs } }
    },

    grantUserToken(headers) {
      const basic = readBasic(headers.authorization)
      const isKnown = basic !== undefined && (options.users === null || options.users[basic.name] === basic.secret)
      if (!isKnown) return { status: 401, body: { status: 401, message: 'Unauthorized' } }
      return { status: 200, body: writeShortForm(issue(`user:${basic.name}`)) }
    },

    authorize(header) {
      if (header === undefined) return { refusal: 'Unauthorized' }
      const value = /^Bearer (\S+)$/i.exec(header)?.[1]
      const token = value === undefined ? undefined : tokens.get(value)
      if (token === undefined) return { refusal: 'Unauthorized' }
      if (token.isRevoked || token.expiresAtMs <= now()) return { refusal: 'Token has expired' }
      return { account: token.account }
    },

    register(token, lifetimeMs) {
      // The account name is a digest of the token, so that no record contains the token itself.
      const account = `token:${createHash('sha256').update(token).digest('hex').slice(0, 16)}`
      const expiresAtMs = lifetimeMs === undefined ? Number.POSITIVE_INFINITY : now() + lifetimeMs
      store(token, { account, expiresAtMs, isRevoked: false })
    },

    expire(token) {
      let revoked = 0
      for (const [value, entry] of tokens) {
        if (entry.isRevoked || (token !== undefined && token !== value)) continue
        entry.isRevoked = true
        revoked++
      }
      return revoked
    }
  }
}
