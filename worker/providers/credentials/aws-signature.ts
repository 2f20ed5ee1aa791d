// Signs requests with Signature Version 4 of AWS (providers.md 1). The library computes the signature of what is about to be sent; it
// sends nothing.

import { createHash } from 'node:crypto'
import type { Bytes } from '../../../shared/bytes.ts'
import type { ProfileAuth } from '../../../shared/profile/profile.ts'
import { GatewayError } from '../../normalized/index.ts'
import { CallFailure } from '../http/call-failure.ts'
import type { Sign, Signature, UnsignedRequest } from '../http/credential.ts'
import type { ExecutorDependencies } from '../provider-kind.ts'

export type AwsAuth = Extract<ProfileAuth, { type: 'aws_sigv4' }>

type Library = typeof import('aws4')['default']

interface AwsKeys {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

/** Creates the signer of an AWS service with the keys of the environment. Without keys each call fails. */
export function createAwsSigner(
  { region, service }: AwsAuth,
  { readSecret, now }: Pick<ExecutorDependencies, 'readSecret' | 'now'>
): Sign {
  let library: Library | undefined

  function signNow({ sign }: Library, request: UnsignedRequest, keys: AwsKeys): Signature {
    const { host, pathname, search } = new URL(request.url)
    const own = {
      'x-amz-date': new Date(now()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
      // The library takes this hash for that of the body, which may be in several pieces.
      'x-amz-content-sha256': hashBody(request.body)
    }
    const contentType = findHeader(request.headers, 'content-type')
    const { headers } = sign(
      {
        method: request.method,
        host,
        path: pathname + search,
        // Only what no proxy on the way changes is signed.
        headers: contentType === undefined ? own : { ...own, 'content-type': contentType },
        service,
        region
      },
      keys
    )
    return { headers: SIGNATURE_HEADERS.flatMap(name => (name in headers ? [name, String(headers[name])] : [])) }
  }

  return request => {
    const keys = readKeys(readSecret)
    if (keys === undefined) throw missingKeys()
    if (library !== undefined) return signNow(library, request, keys)
    // Loaded with the first call: most gateways sign nothing.
    return import('aws4').then(loaded => {
      library = loaded.default
      return signNow(library, request, keys)
    })
  }
}

/** The texts of the keys that no output may show; the id of a key stands in every request and is none. */
export function listAwsTexts(readSecret: ExecutorDependencies['readSecret']): string[] {
  const keys = readKeys(readSecret)
  if (keys === undefined) return []
  return [keys.secretAccessKey, ...(keys.sessionToken === undefined ? [] : [keys.sessionToken])]
}

/** As the library writes them. */
const SIGNATURE_HEADERS = ['Authorization', 'X-Amz-Security-Token', 'x-amz-content-sha256', 'x-amz-date']

function readKeys(readSecret: ExecutorDependencies['readSecret']): AwsKeys | undefined {
  const accessKeyId = readSecret('AWS_ACCESS_KEY_ID')?.reveal()
  const secretAccessKey = readSecret('AWS_SECRET_ACCESS_KEY')?.reveal()
  const sessionToken = readSecret('AWS_SESSION_TOKEN')?.reveal()
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) }
}

function missingKeys(): CallFailure {
  return new CallFailure(new GatewayError('credential_unavailable'), {
    outcome: 'credential_error',
    isRetryable: false
  })
}

function hashBody(body: Bytes | undefined): string {
  const hash = createHash('sha256')
  if (body !== undefined) for (const piece of body instanceof Uint8Array ? [body] : body) hash.update(piece)
  return hash.digest('hex')
}

function findHeader(headers: readonly string[], name: string): string | undefined {
  const index = headers.findIndex((text, at) => at % 2 === 0 && text.toLowerCase() === name)
  return index === -1 ? undefined : headers[index + 1]
}
