// What the tests of the emulator share: one that ends with its test, an authorized client, and readers of its streams.
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { Test } from 'tap'
import { createEmulator, type Emulator, type EmulatorOptions } from '../../../ops/emulator/server.ts'

export const basicCredentials = Buffer.from('client:secret').toString('base64')

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** Bytes as they arrived, one entry per read. */
  reads: Buffer[]
  /** The connection broke before the answer was complete. */
  isBroken: boolean
}

export interface Call {
  method?: string
  headers?: Record<string, string>
  body?: unknown
}

/** Sends one request on a connection of its own and reads until the answer ends or breaks. */
export function send(url: string, call: Call = {}): Promise<Answer> {
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
  call: (path: string, call?: Call) => Promise<Answer>
  /** A v1 chat with one user message. */
  chatV1: (prompt: string, more?: Record<string, unknown>) => Promise<Answer>
  /** A v2 chat with one user message. */
  chatV2: (prompt: string, more?: Record<string, unknown>) => Promise<Answer>
}

export async function fetchToken(emulator: Emulator, credentials = basicCredentials): Promise<string> {
  const answer = await send(emulator.authUrl, {
    body: 'scope=GIGACHAT_API_PERS',
    headers: {
      authorization: `Basic ${credentials}`,
      rquid: '126ad688-5963-4e19-a0dc-ab2da05d3070',
      'content-type': 'application/x-www-form-urlencoded'
    }
  })
  return JSON.parse(answer.text).access_token
}

/** An emulator that is closed with the test, and a client that holds a token. */
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

/** Sends a v1 chat and leaves it open; its answer is not read. Destroy the request to leave. */
export function openChat(client: Client, prompt: string, more: Record<string, unknown> = {}): ClientRequest {
  const request = httpRequest(`${client.emulator.baseUrl}/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${client.token}` }
  })
  // A destroyed request ends with an error that is no news to the one who destroyed it.
  request.on('error', () => request.destroy())
  request.on('response', response => response.pause())
  request.end(JSON.stringify({ model: 'GigaChat', messages: [{ role: 'user', content: prompt }], ...more }))
  return request
}

export interface StreamFrame {
  event: string | null
  data: string
}

/** Reads server-sent events as the standard says: comments dropped, data lines joined. */
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

/** Parsed payloads of a stream without the end marker. */
export function readPayloads(text: string) {
  return readFrames(text)
    .filter(frame => frame.data !== '[DONE]')
    .map(frame => JSON.parse(frame.data))
}

/** Text of all deltas of a v1 stream. */
export function joinTextV1(text: string): string {
  return readPayloads(text)
    .map(payload => payload.choices[0].delta.content ?? '')
    .join('')
}

/** Text of all assistant parts of a v2 stream. */
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
