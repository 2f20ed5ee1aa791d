// Requests that are refused, as a client of the official `openai` package sees them.

import OpenAI from 'openai'
import type { Test } from 'tap'
import type { Emulator } from '../../ops/emulator/server.ts'
import { catchError } from './errors.ts'

const classes = new Map<number, new (...args: never[]) => Error>([
  [400, OpenAI.BadRequestError],
  [401, OpenAI.AuthenticationError],
  [403, OpenAI.PermissionDeniedError],
  [404, OpenAI.NotFoundError],
  [422, OpenAI.UnprocessableEntityError],
  [429, OpenAI.RateLimitError]
])

interface Refused {
  url: string
  /** A text is sent as it is; absent for a GET. */
  body?: object | string
}

interface Refusal {
  status: number
  type?: string
  code: string | null
  param: string | null
}

/** What the SDK throws for a request that it does not repeat. */
export function catchSdkError({ url, body }: Refused): Promise<unknown> {
  const client = new OpenAI({ apiKey: 'unused', maxRetries: 0 })
  const headers = { 'content-type': 'application/json' }
  return catchError(() => (body === undefined ? client.get(url) : client.post(url, { body, headers })))
}

/** Checks the class and the members of the error that the SDK makes of a response. */
export async function assertSdkError(t: Test, refused: Refused, refusal: Refusal): Promise<void> {
  const error = await catchSdkError(refused)
  const about = `${refused.url} ${JSON.stringify(refused.body)}`.slice(0, 300)
  t.ok(
    error instanceof
      (classes.get(refusal.status) ?? (refusal.status < 500 ? OpenAI.APIError : OpenAI.InternalServerError)),
    about
  )
  t.match(error, { type: 'invalid_request_error', ...refusal, message: String, requestID: String }, about)
}

/** As `assertSdkError`, and that nothing was sent to the upstream. */
export async function assertRefusedUnsent(
  t: Test,
  emulator: Emulator,
  refused: Refused,
  refusal: Refusal
): Promise<void> {
  const before = findLastCall(emulator)
  await assertSdkError(t, refused, refusal)
  t.equal(findLastCall(emulator), before, 'the upstream received nothing')
}

/** The list of models is fetched at any time, and a token with the first call. */
function findLastCall({ requests }: Emulator): number | undefined {
  return requests.findLast(({ method, path }) => method === 'POST' && !path.endsWith('/oauth'))?.sequence
}
