// Looks up requests that the embedded upstream received, independent of the client's family.

import type { Emulator, RecordedRequest } from '../../ops/emulator/server.ts'

/** The requests whose path ends so, oldest first. */
export function received(emulator: Emulator, pathEnd: string): RecordedRequest[] {
  return emulator.requests.filter(({ path }) => path.endsWith(pathEnd))
}

/** The newest request whose path ends so. */
export function lastReceived(emulator: Emulator, pathEnd: string): RecordedRequest {
  const request = received(emulator, pathEnd).at(-1)
  if (request === undefined) throw new Error(`The upstream received nothing on ${pathEnd}.`)
  return request
}

/** The files that were uploaded, oldest first. */
export function listUploads(emulator: Emulator): RecordedRequest[] {
  return emulator.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('/files'))
}

export interface SentFunction {
  name: string
  description?: string
  parameters?: unknown
}

/** The functions that a chat body declares, on the native wire or on one of an external provider. */
// biome-ignore lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are not there.
export function listSentFunctions(body: any): SentFunction[] {
  if (body.functions !== undefined) return body.functions
  const tools = body.tools ?? []
  const native = tools.find((entry: object) => 'functions' in entry)
  if (native !== undefined) return native.functions.specifications
  return tools.flatMap((entry: Record<string, unknown>) => {
    if (entry.type === 'function' && entry.function === undefined) return entry
    if (entry.input_schema === undefined) return entry.functionDeclarations ?? entry.function ?? []
    return { name: entry.name, description: entry.description, parameters: entry.input_schema }
  })
}

let pictures = 0

/** Base64 of bytes that no other test uses, so that no cache of uploads can answer for them. */
export function createPicture(): string {
  return Buffer.from(`picture ${process.pid} ${pictures++}`).toString('base64')
}
