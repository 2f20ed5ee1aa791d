// What a client of each family sees of the statuses of an external provider (bridge.md 8.7).

import type { Test } from 'tap'
import type { Failure, Family } from './families.ts'

/** What a client sees of a status: in the words of completions and Responses, messages, content. */
export interface ExpectedFailure {
  status: number
  code: string | null
  type: string
  messages: string
  content: string
  /** Whether the provider's own words are shown. */
  isTold: boolean
}

const failed = { code: 'provider_failure', type: 'server_error', isTold: false }
const refused = { code: null, type: 'invalid_request_error', content: 'INVALID_ARGUMENT' }
const operatorProblem = { ...failed, status: 502, messages: 'api_error', content: 'UNAVAILABLE' }
const timeout = {
  status: 504,
  code: 'provider_timeout',
  type: 'server_error',
  messages: 'timeout_error',
  content: 'DEADLINE_EXCEEDED',
  isTold: false
}

/** What a client sees of every status of a provider. */
export const statuses: ReadonlyArray<[number, ExpectedFailure]> = [
  [400, { ...refused, status: 400, messages: 'invalid_request_error', isTold: true }],
  [409, { ...refused, status: 409, messages: 'invalid_request_error', isTold: false }],
  [413, { ...refused, status: 413, messages: 'request_too_large', isTold: true }],
  [422, { ...refused, status: 422, messages: 'invalid_request_error', isTold: true }],
  [401, operatorProblem],
  [402, operatorProblem],
  [403, operatorProblem],
  [404, operatorProblem],
  [408, timeout],
  [
    429,
    {
      status: 429,
      code: null,
      type: 'rate_limit_error',
      messages: 'rate_limit_error',
      content: 'RESOURCE_EXHAUSTED',
      isTold: true
    }
  ],
  [418, operatorProblem],
  [500, { ...failed, status: 500, messages: 'api_error', content: 'INTERNAL' }],
  [501, { ...failed, status: 500, messages: 'api_error', content: 'INTERNAL' }],
  [502, { ...failed, status: 502, messages: 'api_error', content: 'UNAVAILABLE' }],
  [503, { ...failed, status: 503, messages: 'overloaded_error', content: 'UNAVAILABLE' }],
  [504, timeout],
  // Some services say so that they are overloaded (decisions.md 81).
  [529, { ...failed, status: 503, messages: 'overloaded_error', content: 'UNAVAILABLE' }]
]

/** Checks the type and the code of a failure. */
export function checkFailure(t: Test, family: Family, failure: Failure, expected: ExpectedFailure): void {
  const type = family.name === 'messages' || family.name === 'content' ? expected[family.name] : expected.type
  t.equal(failure.type, type)
  if (expected.code !== null) t.equal(failure.code, expected.code)
}
