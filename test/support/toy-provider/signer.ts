// The credential of the toy kind: a hash over the whole request with a key that never travels.

import { createHmac } from 'node:crypto'
import { joinBytes } from '../../../shared/bytes.ts'
import type { Secret } from '../../../shared/secrets/secret.ts'
import type { Sign } from '../../../worker/providers/http/credential.ts'

/** Headers that the signature covers, beside the method, the URL and the body. */
const SIGNED_HEADERS = ['accept', 'content-type', 'user-agent'] as const

export interface SignedParts {
  method: string
  /** Scheme, host, path and query. */
  url: string
  /** By lower-case name. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Uint8Array
}

/** The hash that the provider expects for a request. */
export function createToySignature(key: string, { method, url, headers, body }: SignedParts): string {
  const hmac = createHmac('sha256', key).update(`${method}\n${url}\n`)
  for (const name of SIGNED_HEADERS) hmac.update(`${name}:${headers[name] ?? ''}\n`)
  return hmac.update(body).digest('hex')
}

/** Signs each request with the key of the profile. */
export function createToySigner(key: Secret): Sign {
  return ({ method, url, headers, body = new Uint8Array() }) => {
    const named: Record<string, string | undefined> = {}
    for (let index = 0; index < headers.length; index += 2)
      named[headers[index]?.toLowerCase() ?? ''] = headers[index + 1]
    const signature = createToySignature(key.reveal(), { method, url, headers: named, body: joinBytes(body) })
    return { headers: ['x-toy-signature', signature] }
  }
}
