// What the upstream's failures become in every family (upstream.md 9; field-lessons.md A15).

import t from 'tap'
import { findFreePort } from '../../../ops/net/free-port.ts'
import { emulatorVariables, startEmulator, startGateway } from '../../support/in-process-gateway.ts'
import { askIn, type Family, families, readError } from '../system/support.ts'
import { ask, received, versions } from './support.ts'

const emulator = await startEmulator(t)
const gateway = await startGateway(t, { env: { ...emulatorVariables(emulator), UPSTREAM_FIRST_BYTE_TIMEOUT: '2' } })

interface Row {
  directive: string
  status: number
  completions: [type: string, code: string | null]
  messages: string
  content: string
  /** Chat calls that the upstream sees. */
  calls?: number
}

const rows: Row[] = [
  {
    directive: '[[error:400]]',
    status: 400,
    completions: ['invalid_request_error', null],
    messages: 'invalid_request_error',
    content: 'INVALID_ARGUMENT'
  },
  {
    directive: '[[error:401]]',
    status: 401,
    completions: ['authentication_error', 'invalid_api_key'],
    messages: 'authentication_error',
    content: 'UNAUTHENTICATED',
    calls: 2
  },
  {
    directive: '[[error:402]]',
    status: 402,
    completions: ['invalid_request_error', 'provider_failure'],
    messages: 'invalid_request_error',
    content: 'FAILED_PRECONDITION'
  },
  {
    directive: '[[error:403]]',
    status: 403,
    completions: ['permission_denied_error', null],
    messages: 'permission_error',
    content: 'PERMISSION_DENIED'
  },
  {
    directive: '[[error:404 message=Not here]]',
    status: 404,
    completions: ['not_found_error', null],
    messages: 'not_found_error',
    content: 'NOT_FOUND'
  },
  {
    directive: '[[error:404 message=No such model]]',
    status: 404,
    completions: ['not_found_error', 'model_not_found'],
    messages: 'not_found_error',
    content: 'NOT_FOUND'
  },
  // Statuses for which the gateway has words of its own.
  ...[405, 408, 409, 415].map(status => ({
    directive: `[[error:${status}]]`,
    status,
    completions: ['invalid_request_error', 'provider_failure'] as Row['completions'],
    messages: 'invalid_request_error',
    content: 'FAILED_PRECONDITION'
  })),
  {
    directive: '[[error:413]]',
    status: 413,
    completions: ['invalid_request_error', null],
    messages: 'request_too_large',
    content: 'INVALID_ARGUMENT'
  },
  {
    directive: '[[error:418]]',
    status: 418,
    completions: ['invalid_request_error', 'provider_failure'],
    messages: 'invalid_request_error',
    content: 'FAILED_PRECONDITION'
  },
  {
    directive: '[[error:422]]',
    status: 422,
    completions: ['invalid_request_error', null],
    messages: 'invalid_request_error',
    content: 'INVALID_ARGUMENT'
  },
  {
    directive: '[[error:429 retry=7]]',
    status: 429,
    completions: ['rate_limit_error', null],
    messages: 'rate_limit_error',
    content: 'RESOURCE_EXHAUSTED'
  },
  {
    directive: '[[error:500]]',
    status: 500,
    completions: ['server_error', null],
    messages: 'api_error',
    content: 'INTERNAL'
  },
  {
    directive: '[[error:507]]',
    status: 500,
    completions: ['server_error', null],
    messages: 'api_error',
    content: 'INTERNAL'
  },
  {
    directive: '[[error:502]]',
    status: 502,
    completions: ['server_error', 'provider_failure'],
    messages: 'api_error',
    content: 'UNAVAILABLE'
  },
  {
    directive: '[[error:503 retry=7]]',
    status: 503,
    completions: ['server_error', 'provider_failure'],
    messages: 'overloaded_error',
    content: 'UNAVAILABLE'
  },
  {
    directive: '[[error:504]]',
    status: 504,
    completions: ['server_error', 'provider_failure'],
    messages: 'timeout_error',
    content: 'DEADLINE_EXCEEDED'
  },
  {
    directive: '[[die:0]]',
    // The connection is a kept one, and replaced once (decisions.md 112).
    calls: 2,
    status: 502,
    completions: ['server_error', 'provider_failure'],
    messages: 'api_error',
    content: 'UNAVAILABLE'
  },
  {
    directive: '[[hang]]',
    status: 504,
    completions: ['server_error', 'provider_timeout'],
    messages: 'timeout_error',
    content: 'DEADLINE_EXCEEDED'
  },
  {
    directive: '[[badjson]]',
    status: 502,
    completions: ['server_error', 'provider_protocol_error'],
    messages: 'api_error',
    content: 'UNAVAILABLE'
  },
  {
    directive: '[[ctype:text/html]][[badjson:html]]',
    status: 502,
    completions: ['server_error', 'provider_protocol_error'],
    messages: 'api_error',
    content: 'UNAVAILABLE'
  },
  {
    directive: '[[finish:error]]',
    status: 500,
    completions: ['server_error', 'upstream_generation_error'],
    messages: 'api_error',
    content: 'INTERNAL'
  }
]

function expected(row: Row, family: Family): object {
  if (family === 'messages' || family === 'content') return { kind: row[family] }
  const [kind, code] = row.completions
  return { kind, code }
}

for (const row of rows) {
  t.test(`${row.directive} has its status and its word in every family, whole and streamed (A15)`, async t => {
    const isAboutContent = row.directive.startsWith('[[finish:')
    await Promise.all(
      families.flatMap(family =>
        // A generation that fails has sent something by then: in a stream it is an error event.
        (isAboutContent ? [false] : [false, true]).map(async stream => {
          const name = `${family} ${stream ? 'streamed' : 'whole'}`
          const response = await askIn(gateway, family, row.directive, { stream, query: stream ? '?alt=sse' : '' })
          t.equal(response.status, row.status, name)
          t.match(readError(family, response), expected(row, family), name)
          t.equal(response.headers.get('retry-after'), row.directive.includes('retry=7') ? '7' : null, name)
          t.notMatch(response.text, /127\.0\.0\.1|https?:|html|bearer|oauth|\.ts\b/i, name)
          if (family === 'content' && row.status === 429) {
            const info = response.json.error.details.find((one: { '@type': string }) =>
              one['@type'].endsWith('RetryInfo')
            )
            t.equal(info.retryDelay, '7s')
          }
        })
      )
    )
  })
}

t.test('a failure costs one call, a refused token one renewal and one more', async t => {
  for (const { directive, calls = 1 } of rows) {
    if (directive === '[[hang]]') continue
    emulator.reset()
    await askIn(gateway, 'messages', directive)
    t.equal(received(emulator, '/chat/completions').length, calls, directive)
  }
})

t.test('of the upstream’s words only its message is shown, cleaned and cut', async t => {
  for (const version of versions) {
    const message = 'See https://internal.example:8443/a?key=canary, Bearer canary and {"password": "canary"}'
    const response = await ask(gateway, version, `[[error:422 message=${message}]]`)
    t.equal(response.status, 422)
    t.match(response.json.error.message, /^See /)
    t.notMatch(response.text, /canary|internal\.example/)
    const long = await ask(gateway, version, `[[error:422 message=${'x'.repeat(5000)}]]`)
    t.equal(long.json.error.message.length, 1000)
    const plain = await ask(gateway, version, '[[error:422 message=Requested model does not support functions]]')
    t.equal(plain.json.error.message, 'Requested model does not support functions')
  }
  for (const body of ['<html>canary</html>', 'canary', '["canary"]', '{"message":5,"url":"canary"}', '']) {
    emulator.respondNext({ status: 422, body, headers: { 'x-internal': 'canary' } })
    const response = await ask(gateway, 'v1', 'hi')
    t.equal(response.status, 422, body)
    t.ok(response.json.error.message.length > 0)
    t.notMatch(JSON.stringify([response.text, ...response.headers]), /canary/, body)
  }
})

t.test('an upstream that is not there, or has no address, is a failure on the way in every family (H10)', async t => {
  const port = await findFreePort()
  for (const base of [`http://127.0.0.1:${port}/v1`, 'http://no-such-host.invalid/v1']) {
    const other = await startGateway(t, { env: { UPSTREAM_BASE_URL: base, UPSTREAM_ACCESS_TOKEN: 'x' } })
    for (const family of families) {
      const response = await askIn(other, family, 'hi')
      t.equal(response.status, 502, `${family} ${base}`)
      readError(family, response)
      t.notMatch(response.text, /127\.0\.0\.1|no-such-host|ECONN|ENOTFOUND/)
    }
  }
})
