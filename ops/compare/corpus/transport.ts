// What a request meets before its handler: paths, methods, bodies, content encodings, headers, and heads that are no HTTP.

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { CaseRequest, CompareCase } from '../types.ts'
import { createCase, forms, model, nameForm, writeChat, writePrompt } from './families.ts'
import { pictureUrl } from './values.ts'

const chat = { model, messages: [{ role: 'user', content: 'hi' }] }
const contents = { contents: [{ parts: [{ text: 'hi' }] }] }

const reads: string[] = [
  '/',
  '/health',
  '/health/',
  '/ping',
  '/ready',
  '/nope',
  '/v1',
  '/v1/nope',
  '/v1/messages/nope',
  '/v1beta/nope',
  '/responses/resp_1',
  '/v1//models',
  '/docs',
  '/metrics',
  '/%zz',
  '/v1/chat/completions',
  '/v1/messages',
  '/v1beta/models/x:generateContent'
]

const posts: Array<[path: string, body: object]> = [
  ['/chat/completions', chat],
  ['/api/v1/chat/completions', chat],
  ['/v2/v1/chat/completions', chat],
  ['/a/b/chat/completions/', chat],
  ['/messages', { ...chat, max_tokens: 5 }],
  ['/anthropic/v1/messages?beta=true', { ...chat, max_tokens: 5 }],
  ['/openai/v1/v1/responses/', { model, input: 'hi' }],
  [`/v1/v1beta/models/${model}:generateContent`, contents],
  [`/v2/v1/v1beta/models/${model}:generateContent`, contents],
  [`/v1beta/models/${model}:streamGenerateContent`, contents],
  [`/v1beta/models/${model}:streamGenerateContent?alt=json`, contents],
  [`/v1beta/models/models%2F${model}:generateContent`, contents],
  ['/v1beta/models/:generateContent', contents],
  [`/v1beta/tunedModels/${model}:generateContent`, contents],
  ['/health', {}],
  ['/ping', {}],
  ['/v1/models', {}],
  ['/nope', {}]
]

const methods = ['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'].flatMap(method =>
  [
    '/health',
    '/v1/models',
    '/v1/chat/completions',
    '/v1/messages',
    '/v1/responses',
    '/v1beta/models/x:generateContent',
    '/nope'
  ].map((path): CaseRequest => ({ method, path }))
)

const malformed: Array<string | Buffer> = [
  '',
  '{',
  'nonsense',
  '[]',
  '"text"',
  'null',
  '{"model":1e999}',
  '{"a":1,"a":2}',
  '{"__proto__":{"x":1}}',
  '{"model":"GigaChat-2","messages":[{"role":"user","content":"\\ud800"}]}',
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
  `${'['.repeat(2000)}${']'.repeat(2000)}`,
  `\ufeff${JSON.stringify(chat)}`
]

const encodings: Array<[encoding: string, body: Buffer | string]> = [
  ['gzip', gzipSync(JSON.stringify(chat))],
  ['deflate', deflateSync(JSON.stringify(chat))],
  ['br', brotliCompressSync(JSON.stringify(chat))],
  ['identity', JSON.stringify(chat)],
  ['compress', JSON.stringify(chat)],
  ['gzip, br', JSON.stringify(chat)],
  ['gzip', 'no gzip at all'],
  ['gzip', gzipSync(JSON.stringify({ ...chat, padding: 'x'.repeat(12_000_000) }))]
]

const headers: Array<Record<string, string>> = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/xml' },
  { 'content-type': 'multipart/form-data; boundary=x' },
  { origin: 'https://app.example' },
  { 'x-request-id': 'mine', 'x-session-id': 's', 'x-trace-id': 't', 'x-client-id': 'c', 'x-tenant': 'n' },
  { 'x-request-id': 'ä'.repeat(10), 'x-agent-id': 'a', 'x-operation-id': 'o', 'x-service-id': 'v' },
  { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b', baggage: 'k=v' },
  { traceparent: 'nonsense' },
  { accept: 'text/x', 'accept-language': 'de', 'user-agent': 'x', cookie: 'a=b', referer: 'r', te: 'trailers' },
  { 'anthropic-beta': 'b', 'openai-organization': 'o', 'x-stainless-os': 'l', 'x-goog-user-project': 'p' },
  { 'x-forwarded-for': '1.2.3.4', via: 'v', forwarded: 'for=x', 'cf-ray': 'c', 'sec-fetch-mode': 'cors' },
  { authorization: 'Bearer upstream-auth-ready-token' },
  { 'x-gateway-anything': '1', 'idempotency-key': 'k' },
  Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`x-custom-${index}`, 'v'.repeat(50)]))
]

const heads: string[] = [
  'nonsense\r\n\r\n',
  'GET / HTTP/9.9\r\nhost: x\r\n\r\n',
  'GET /health HTTP/1.1\r\nconnection: close\r\n\r\n',
  'GET /health HTTP/1.0\r\n\r\n',
  'GET /health HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}',
  'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 99999999\r\n\r\n',
  `GET /health HTTP/1.1\r\nhost: x\r\nx-large: ${'x'.repeat(70_000)}\r\n\r\n`,
  'GET http://x/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
  'CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n'
]

/** The token is revoked by the upstream: the gateway fetches another and repeats the call. */
const revokedTokens: CompareCase[] = forms.map(form => ({
  name: `revoked token ${nameForm(form)}`,
  async run({ upstream, send }) {
    upstream.expireTokens()
    await send(writeChat(form, writePrompt(form.family, 'hi')))
  }
}))

/** The token cannot be fetched, or an attachment cannot be stored. */
const upstreamFailures: CompareCase[] = forms
  .filter(({ version }) => version === 'v2')
  .flatMap(form =>
    [0, 400, 401, 403, 429, 500].flatMap((status): CompareCase[] => [
      {
        name: `token endpoint responds ${status} ${nameForm(form)}`,
        async run({ upstream, send }) {
          upstream.expireTokens()
          upstream.failNext({ path: '/oauth', status, times: 1 })
          await send(writeChat(form, writePrompt(form.family, 'hi')))
        }
      },
      ...(form.family === 'completions'
        ? [
            {
              name: `file endpoint responds ${status} ${nameForm(form)}`,
              async run({ upstream, send }) {
                upstream.failNext({ path: '/files', status, times: 1 })
                const image_url = { url: pictureUrl(`refused ${status} ${nameForm(form)}`) }
                const content = [{ type: 'image_url', image_url }]
                await send(writeChat(form, { messages: [{ role: 'user', content }] }))
              }
            } satisfies CompareCase
          ]
        : [])
    ])
  )

export function createTransportCases(): CompareCase[] {
  const path = '/v1/chat/completions'
  return [
    ...reads.map(address => createCase(`GET ${address}`, { path: address })),
    ...posts.map(([address, body]) => createCase(`POST ${address}`, { path: address, body })),
    ...methods.map(request => createCase(`${request.method} ${request.path}`, request)),
    ...forms.flatMap(form =>
      malformed.map((body, index) =>
        createCase(`malformed body ${index} ${nameForm(form)}`, { ...writeChat(form, {}), body })
      )
    ),
    ...encodings.map(([encoding, body], index) =>
      createCase(`content encoding ${encoding} ${index}`, { path, body, headers: { 'content-encoding': encoding } })
    ),
    ...headers.flatMap((more, index) =>
      forms.map(form =>
        createCase(`headers ${index} ${nameForm(form)}`, {
          ...writeChat(form, writePrompt(form.family, 'hi')),
          headers: more
        })
      )
    ),
    createCase('preflight', {
      method: 'OPTIONS',
      path,
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type, x-custom'
      }
    }),
    ...heads.map(
      (head, index) =>
        ({
          name: `malformed head ${index}`,
          run: async ({ sendBytes }) => {
            await sendBytes(head)
          }
        }) satisfies CompareCase
    ),
    ...revokedTokens,
    ...upstreamFailures
  ]
}
