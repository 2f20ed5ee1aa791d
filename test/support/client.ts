// A plain HTTP client for tests that look at bytes the SDKs hide.

import { isChatPath } from '../../ops/emulator/chat-path.ts'
import type { Emulator } from '../../ops/emulator/server.ts'

export interface HttpResponse {
  status: number
  headers: Headers
  text: string
  /** The parsed body; undefined when it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are absent.
  json: any
}

type Body = object | string | Uint8Array | ReadableStream

/**
 * Sends JSON (an object) or raw bytes (a string or buffer) and reads the whole response. Its connection closes in the middle of it only
 * when it is a stream that ends with an error (decisions.md 108).
 */
export async function post(url: string, body: Body, headers: Record<string, string> = {}): Promise<HttpResponse> {
  const { isCut, ...response } = await postUntilCut(url, body, headers)
  if (isCut && !endsWithError(response.text)) throw new Error(`The response broke off after: ${response.text}`)
  return response
}

/** Whether the last frame of a stream is the error of a family. */
export function endsWithError(text: string): boolean {
  const last = text.trimEnd().split(/\n\n/).at(-1) ?? ''
  return /^(event: (error|response\.failed)\ndata: |(data: )?\{"error":)/.test(last)
}

/** As `post`, and reads what arrived of a response whose connection closes in the middle of it: then `isCut` is true. */
export async function postUntilCut(
  url: string,
  body: Body,
  headers: Record<string, string> = {}
): Promise<HttpResponse & { isCut: boolean }> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: isRaw ? (body as string) : JSON.stringify(body),
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {})
  } as RequestInit)
  const { text, isCut } = await readUntilCut(response)
  return { ...describe(response, text), isCut }
}

/** The text of a response; `isCut` when its connection closed before the end of the body. Calls `onPiece` with each piece. */
export async function readUntilCut(
  response: Response,
  onPiece?: (piece: Buffer) => void
): Promise<{ text: string; isCut: boolean }> {
  const pieces: Uint8Array[] = []
  let isCut = false
  try {
    for await (const piece of response.body ?? []) {
      pieces.push(piece)
      onPiece?.(Buffer.from(piece))
    }
  } catch {
    isCut = true
  }
  return { text: Buffer.concat(pieces).toString('utf8'), isCut }
}

export async function get(url: string, headers: Record<string, string> = {}): Promise<HttpResponse> {
  const response = await fetch(url, { headers })
  return describe(response, await response.text())
}

function describe(response: Response, text: string): HttpResponse {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: response.status, headers: response.headers, text, json }
}

/** The `data:` payloads of an SSE text; JSON ones parsed, the end mark as text. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
export function readFrames(text: string): any[] {
  return (
    text
      .split(/(?:\r?\n){2}/)
      // A comment keeps the connection open while nothing is sent.
      .filter(frame => frame !== '' && !/^(:[^\n]*\n?)+$/.test(frame))
      .map(frame => {
        const data = frame
          .split(/\r?\n/)
          .filter(line => line.startsWith('data:'))
          .map(line => line.slice(5).trim())
          .join('\n')
        return data === '[DONE]' ? data : JSON.parse(data)
      })
  )
}

export interface UpstreamChat {
  path: string
  headers: Record<string, string | string[] | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  body: any
}

/** The chat requests that the upstream received, oldest first. */
export function upstreamChats(emulator: Emulator): UpstreamChat[] {
  return emulator.requests
    .filter(({ path }) => isChatPath(path))
    .map(({ path, headers, body }) => ({ path, headers, body }))
}

/** The newest chat request that the upstream received. */
export function lastUpstreamChat(emulator: Emulator): UpstreamChat {
  const chat = upstreamChats(emulator).at(-1)
  if (chat === undefined) throw new Error('The upstream received no chat request.')
  return chat
}
