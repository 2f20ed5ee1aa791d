// The valid HTTP messages that mutations start from.

import { gzipSync } from 'node:zlib'
import { GATEWAY_KEY } from './target.ts'

/** A request as lines and bytes; texts have one character for each byte. */
export interface Message {
  /** The request line first, without line ends. */
  lines: string[]
  eol: string
  body: string
}

const chat = JSON.stringify({ model: 'GigaChat-2', messages: [{ role: 'user', content: 'hi' }] })
const streamed = JSON.stringify({ ...JSON.parse(chat), stream: true })
const key = `x-api-key: ${GATEWAY_KEY}`

export function createMessages(): Message[] {
  const gets = ['/', '/health', '/ready', '/v1/models', '/v1beta/models/GigaChat-2', '/v1/nope', '/nope'].map(path =>
    message(`GET ${path} HTTP/1.1`, [key])
  )
  const posts = [
    ['/v1/chat/completions', chat],
    ['/v2/chat/completions', streamed],
    ['/v1/responses', JSON.stringify({ model: 'GigaChat-2', input: 'hi' })],
    ['/v1/messages', JSON.stringify({ ...JSON.parse(chat), max_tokens: 9 })],
    ['/v1beta/models/GigaChat-2:generateContent', '{"contents":[{"parts":[{"text":"hi"}]}]}'],
    ['/v1/embeddings', '{"input":"a"}']
  ].map(([path = '', body = '']) => post(path, body))
  const packed = gzipSync(chat).toString('latin1')
  return [
    ...gets,
    ...posts,
    ...posts.map(inChunks),
    message('HEAD /v1/models HTTP/1.1', [key]),
    message('GET /health HTTP/1.0', []),
    message('GET http://localhost/health HTTP/1.1', []),
    message('DELETE /v1/models HTTP/1.1', [key]),
    message('OPTIONS * HTTP/1.1', []),
    message('CONNECT localhost:443 HTTP/1.1', []),
    message('TRACE /health HTTP/1.1', []),
    message('OPTIONS /v1/chat/completions HTTP/1.1', [
      'origin: http://a.b',
      'access-control-request-method: POST',
      'access-control-request-headers: x-a'
    ]),
    message('GET /health HTTP/1.1', ['connection: Upgrade', 'upgrade: websocket', 'sec-websocket-key: YQ==']),
    message('GET /health HTTP/1.1', [
      'connection: Upgrade, HTTP2-Settings',
      'upgrade: h2c',
      'http2-settings: AAMAAABk'
    ]),
    message('PUT /v1/chat/completions HTTP/1.1', [key, 'content-length: 2'], '{}'),
    message(
      'POST /v1/chat/completions HTTP/1.1',
      [key, `content-length: ${chat.length}`, 'expect: 100-continue'],
      chat
    ),
    message(
      'POST /v1/chat/completions HTTP/1.1',
      [key, 'content-encoding: gzip', `content-length: ${packed.length}`],
      packed
    )
  ]
}

function message(requestLine: string, headers: readonly string[], body = ''): Message {
  return { lines: [requestLine, 'host: localhost', ...headers], eol: '\r\n', body }
}

function post(path: string, body: string): Message {
  const headers = [key, 'content-type: application/json', `content-length: ${body.length}`]
  return message(`POST ${path} HTTP/1.1`, headers, body)
}

function inChunks({ lines, eol, body }: Message): Message {
  const middle = body.length >> 1
  const chunks = [body.slice(0, middle), body.slice(middle), ''].map(
    chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`
  )
  const kept = lines.filter(line => !line.startsWith('content-length'))
  return { lines: [...kept, 'transfer-encoding: chunked'], eol, body: chunks.join('') }
}
