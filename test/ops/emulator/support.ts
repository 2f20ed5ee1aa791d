// Shared by the tests of the emulator: an emulator that closes at the end of its test, an authorized client, stream readers.
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { Test } from 'tap'
import { createEmulator, type Emulator, type EmulatorOptions } from '../../../ops/emulator/server.ts'

export const basicCredentials = Buffer.from('client:secret').toString('base64')

export interface ReceivedResponse {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The received bytes, one entry per read. */
  reads: Buffer[]
  /** True when the connection closed before the response was complete. */
  isBroken: boolean
}

export interface Call {
  method?: string
  headers?: Record<string, string>
  body?: unknown
}

/** Sends one request on a new connection and reads until the response ends or the connection breaks. */
export function send(url: string, call: Call = {}): Promise<ReceivedResponse> {
  return new Promise((resolve, reject) => {
    const isRaw = typeof call.body === 'string' || Buffer.isBuffer(call.body)
    const body = call.body === undefined ? undefined : isRaw ? call.body : JSON.stringify(call.body)
    const method = call.method ?? (body === undefined ? 'GET' : 'POST')
    const request = httpRequest(url, { method, agent: false, headers: { ...call.headers } }, response => {
      const reads: Buffer[] = []
      const settle = (isBroken: boolean) => {
        const text = Buffer.concat(reads).toString('utf8')
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, reads, isBroken })
      }
      response.on('data', (chunk: Buffer) => reads.push(chunk))
      response.on('end', () => settle(!response.complete))
      response.on('error', () => settle(true))
    })
    request.on('error', reject)
    request.end(body)
  })
}

export interface Client {
  emulator: Emulator
  token: string
  call: (path: string, call?: Call) => Promise<ReceivedResponse>
  /** Sends a v1 chat request with one user message. */
  chatV1: (prompt: string, more?: Record<string, unknown>) => Promise<ReceivedResponse>
  /** Sends a v2 chat request with one user message. */
  chatV2: (prompt: string, more?: Record<string, unknown>) => Promise<ReceivedResponse>
}

/** Fetches an OAuth token. */
export async function fetchToken(emulator: Emulator, credentials = basicCredentials): Promise<string> {
  const response = await send(emulator.authUrl, {
    body: 'scope=GIGACHAT_API_PERS',
    headers: {
      authorization: `Basic ${credentials}`,
      rquid: '126ad688-5963-4e19-a0dc-ab2da05d3070',
      'content-type': 'application/x-www-form-urlencoded'
    }
  })
  return JSON.parse(response.text).access_token
}

/** Starts an emulator that closes at the end of the test, and a client with a token. */
export async function startClient(t: Test, options: EmulatorOptions = {}): Promise<Client> {
  const emulator = await createEmulator(options)
  t.teardown(() => emulator.close())
  const token = await fetchToken(emulator)
  const origin = new URL(emulator.baseUrl).origin
  const call = (path: string, input: Call = {}) =>
    send(`${origin}${path}`, { ...input, headers: { authorization: `Bearer ${token}`, ...input.headers } })
  return {
    emulator,
    token,
    call,
    chatV1: (prompt, more = {}) =>
      call('/api/v1/chat/completions', {
        body: { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: prompt }], ...more }
      }),
    chatV2: (prompt, more = {}) =>
      call('/api/v2/chat/completions', {
        body: { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: [{ text: prompt }] }], ...more }
      })
  }
}

/** Sends a v1 chat request and does not read its response; the caller destroys the request to disconnect. */
export function openChat(client: Client, prompt: string, more: Record<string, unknown> = {}): ClientRequest {
  const request = httpRequest(`${client.emulator.baseUrl}/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${client.token}` }
  })
  // Destroying the request emits an error, which would crash the test without a listener.
  request.on('error', () => request.destroy())
  request.on('response', response => response.pause())
  request.end(JSON.stringify({ model: 'GigaChat', messages: [{ role: 'user', content: prompt }], ...more }))
  return request
}

export interface StreamFrame {
  event: string | null
  data: string
}

/** Reads server-sent events: comments are dropped, and the data lines of one event are joined. */
export function readFrames(text: string): StreamFrame[] {
  const frames: StreamFrame[] = []
  for (const block of text.replaceAll('\r\n', '\n').split('\n\n')) {
    let event: string | null = null
    const data: string[] = []
    for (const line of block.split('\n')) {
      if (line.startsWith('event:')) event = line.slice(6).trim()
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
    }
    if (data.length > 0) frames.push({ event, data: data.join('\n') })
  }
  return frames
}

/** Parses the payloads of a stream, without the end marker. */
export function readPayloads(text: string) {
  return readFrames(text)
    .filter(frame => frame.data !== '[DONE]')
    .map(frame => JSON.parse(frame.data))
}

/** Joins the text of all deltas of a v1 stream. */
export function joinTextV1(text: string): string {
  return readPayloads(text)
    .map(payload => payload.choices[0].delta.content ?? '')
    .join('')
}

/** Joins the text of all assistant parts of a v2 stream. */
export function joinTextV2(text: string): string {
  return readPayloads(text)
    .flatMap(payload => payload.messages ?? [])
    .filter(message => message.role !== 'reasoning')
    .flatMap(message => message.content ?? [])
    .map(part => part.text ?? '')
    .join('')
}

export const weather = {
  name: 'get_weather',
  description: 'Current weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
}
export const clock = { name: 'get_time', parameters: { type: 'object', properties: { zone: { type: 'string' } } } }
