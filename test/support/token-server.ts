// A token server that takes nothing but what RFC 6749 asks for: every deviation is refused and noted, so that a test sees it.

import { type KeyObject, verify } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { ServerOptions as TlsOptions } from 'node:https'
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import { type StubRequest, type StubServer, sendJson, startStub } from '../worker/providers/support/stub-upstream.ts'

/** It stands in every token, and in every explanation of a refusal: no output of the gateway may show it. */
export const TOKEN_CANARY = 'tok3n-canary'
export const WORDS_CANARY = 'w0rds-of-the-token-server'

export interface ClientAccountOptions {
  account: { id: string; secret: string }
  clientAuth: 'basic' | 'post'
  /** Exactly these further members are taken. */
  form?: Record<string, string>
  lifetimeSeconds?: number
}

export interface ServiceAccountOptions {
  email: string
  keyId: string
  publicKey: KeyObject
  scope: string
  /** The server's own clock. */
  nowMs: () => number
  lifetimeSeconds?: number
}

export type TokenServerOptions = (ClientAccountOptions | ServiceAccountOptions) & { tls?: TlsOptions }

export interface TokenServer {
  tokenUrl: string
  stub: StubServer
  /** Every token in the order of its issue. */
  issued: readonly string[]
  /** What was wrong with requests. */
  deviations: readonly string[]
  /** Whether an `authorization` header has a token that was issued and not revoked. */
  accepts(authorization: string | undefined): boolean
  revokeAll(): void
  /** Answers in place of the server until it is called without a handler; `issue` goes on as usual. */
  behave(handler?: (response: ServerResponse, issue: () => void) => void): void
}

const PATH = '/oauth2/v2.0/token'

/** Starts a token server on loopback, closed with the test. */
export async function startTokenServer(t: Test, options: TokenServerOptions): Promise<TokenServer> {
  const issued: string[] = []
  const deviations: string[] = []
  let revokedCount = 0
  let misbehave: ((response: ServerResponse, issue: () => void) => void) | undefined

  function answer(request: StubRequest, response: ServerResponse): void {
    const refused = findRefusal(request, options)
    if (refused !== undefined) {
      deviations.push(refused.why)
      const body = { error: refused.error, error_description: WORDS_CANARY }
      sendJson(response, refused.error === 'invalid_client' ? 401 : 400, body, { 'cache-control': 'no-store' })
      return
    }
    const token = `${TOKEN_CANARY}-${issued.length + 1}`
    issued.push(token)
    const body = { access_token: token, token_type: 'Bearer', expires_in: options.lifetimeSeconds ?? 3600 }
    sendJson(response, 200, body, { 'cache-control': 'no-store', pragma: 'no-cache' })
  }

  const { tls } = options
  const stub = await startStub(
    (request, response) => {
      if (misbehave === undefined) answer(request, response)
      else misbehave(response, () => answer(request, response))
    },
    tls === undefined ? {} : { tls }
  )
  t.teardown(() => stub.close())
  return {
    tokenUrl: stub.origin + PATH,
    stub,
    issued,
    deviations,
    accepts: authorization => issued.slice(revokedCount).some(token => authorization === `Bearer ${token}`),
    revokeAll() {
      revokedCount = issued.length
    },
    behave(handler) {
      misbehave = handler
    }
  }
}

interface Refusal {
  error: 'invalid_grant' | 'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_scope'
  why: string
}

function findRefusal(request: StubRequest, options: TokenServerOptions): Refusal | undefined {
  const wrong = findWrongMessage(request)
  if (wrong !== undefined) return { error: 'invalid_request', why: wrong }
  const entries = [...new URLSearchParams(request.body.toString('utf8'))]
  const form = new Map(entries)
  if (form.size !== entries.length) return { error: 'invalid_request', why: 'a member stands twice' }
  if ('email' in options) return findAssertionRefusal(request, form, options)
  if (form.get('grant_type') !== 'client_credentials') return { error: 'unsupported_grant_type', why: 'the grant' }
  form.delete('grant_type')
  const account = readAccount(request, form)
  if (account === undefined) return { error: 'invalid_client', why: 'no account, or one in both places' }
  if (account.place !== options.clientAuth)
    return { error: 'invalid_client', why: `the account came by ${account.place}` }
  const { id, secret } = options.account
  if (account.id !== id || account.secret !== secret) return { error: 'invalid_client', why: 'the account is another' }
  const expected = options.form ?? {}
  const isSame =
    form.size === Object.keys(expected).length && [...form].every(([name, text]) => expected[name] === text)
  return isSame ? undefined : { error: 'invalid_scope', why: `the members are ${[...form.keys()].join()}` }
}

function findWrongMessage({ method, url, headers, body }: StubRequest): string | undefined {
  if (method !== 'POST' || url !== PATH) return `${method} ${url}`
  if (headers['content-type'] !== 'application/x-www-form-urlencoded') return 'the content type'
  if (headers.accept !== 'application/json') return 'the accepted type'
  if (headers['content-length'] !== String(body.length)) return 'the length'
  const known = ['accept', 'authorization', 'connection', 'content-length', 'content-type', 'host', 'user-agent']
  const unknown = Object.keys(headers).find(name => !known.includes(name))
  return unknown === undefined ? undefined : `the header ${unknown}`
}

/** Takes the account out of the header or the form. */
function readAccount(
  { headers }: StubRequest,
  form: Map<string, string>
): { place: 'basic' | 'post'; id: string; secret: string } | undefined {
  const id = form.get('client_id')
  const secret = form.get('client_secret')
  form.delete('client_id')
  form.delete('client_secret')
  if (headers.authorization === undefined) {
    return id === undefined || secret === undefined ? undefined : { place: 'post', id, secret }
  }
  if (id !== undefined || secret !== undefined) return undefined
  const pair = /^Basic ([A-Za-z0-9+/]+={0,2})$/.exec(headers.authorization)?.[1]
  if (pair === undefined) return undefined
  const [user = '', password = '', ...more] = Buffer.from(pair, 'base64').toString('latin1').split(':')
  if (more.length > 0) return undefined
  return { place: 'basic', id: decodeForm(user), secret: decodeForm(password) }
}

function decodeForm(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}

/** Checks an assertion as RFC 7523 and Google ask for it: each claim, the signature, and the time by the server's clock. */
function findAssertionRefusal(
  { headers }: StubRequest,
  form: Map<string, string>,
  { email, keyId, publicKey, scope, nowMs }: ServiceAccountOptions
): Refusal | undefined {
  if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
    return { error: 'unsupported_grant_type', why: 'the grant' }
  }
  const refuse = (why: string): Refusal => ({ error: 'invalid_grant', why })
  if (form.size !== 2 || headers.authorization !== undefined) return refuse('more than an assertion')
  const parts = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(form.get('assertion') ?? '')
  if (parts === null) return refuse('no assertion')
  const [, head = '', claims = '', signature = ''] = parts
  const isSigned = verify(
    'RSA-SHA256',
    Buffer.from(`${head}.${claims}`),
    publicKey,
    Buffer.from(signature, 'base64url')
  )
  if (!isSigned) return refuse('the signature')
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  if (!isDeepStrictEqual(read(head), { alg: 'RS256', typ: 'JWT', kid: keyId })) return refuse('the header')
  const { iat, exp, ...rest } = read(claims)
  const audience = `http://${headers.host}${PATH}`
  if (!isDeepStrictEqual(rest, { iss: email, scope, aud: audience })) return refuse('the claims')
  const now = nowMs() / 1000
  if (!Number.isInteger(iat) || !Number.isInteger(exp) || exp - iat > 3600 || exp <= now) return refuse('the lifetime')
  return Math.abs(iat - now) > 300 ? refuse('the time of issue') : undefined
}
