// Shared by the tests of both native faces: readers with fixed ids, goldens, and events as plain lines.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type FieldPaths,
  GatewayError,
  type NormalizedEvent,
  type NormalizedMessage,
  type NormalizedRequest
} from '../../../../worker/normalized/index.ts'
import type { NativeOptions } from '../../../../worker/protocols/native/options.ts'
import type { NativeReading } from '../../../../worker/protocols/native/reading.ts'
import type { ProviderFace, ReaderDependencies, ResponseReader } from '../../../../worker/protocols/provider-face.ts'

export type NativeFace = ProviderFace<NativeOptions, NativeReading>

export const plainReading: NativeReading = {
  toolNames: new Map(),
  declaredNames: new Set(['a', 'b', 'f', 'g', 'get_weather', 'look', 'order_status', 'ping']),
  buffersToolCalls: false,
  namesCallsInIds: false,
  expectsToolCall: false,
  isStructuredOutput: false,
  droppedAttachments: 0,
  droppedToolCalls: 0
}

export interface Setup {
  reading?: Partial<NativeReading>
  /** Headers of the response. */
  headers?: Record<string, string>
  onAnomaly?: NonNullable<ReaderDependencies['onAnomaly']>
}

/** Opens a reader whose nonces count from 0. */
export function openReader(face: NativeFace, setup: Setup = {}): ResponseReader {
  let nonces = 0
  const headers = setup.headers ?? { 'x-request-id': 'rq-1', 'x-session-id': 'ss-1' }
  return face.createReader(
    { ...plainReading, ...setup.reading },
    { status: 200, headers },
    {
      createNonce: () => `nonce-${nonces++}`,
      ...(setup.onAnomaly === undefined ? {} : { onAnomaly: setup.onAnomaly })
    }
  )
}

export function readStream(face: NativeFace, pieces: readonly Uint8Array[], setup: Setup = {}): NormalizedEvent[] {
  const reader = openReader(face, setup)
  const events: NormalizedEvent[] = []
  for (const piece of pieces) events.push(...reader.push(piece))
  events.push(...reader.end())
  return events
}

/** The events of a whole response; a thrown error becomes the `error` event that would end a stream. */
export function readWhole(face: NativeFace, body: Uint8Array, setup: Setup = {}): NormalizedEvent[] {
  try {
    return openReader(face, setup).readBody(body)
  } catch (error) {
    if (GatewayError.is(error)) return [{ type: 'error', error }]
    throw error
  }
}

/** Events as text, one per line; an error has only the members that a client can see. */
export function writeLines(events: readonly NormalizedEvent[]): string {
  const lines = events.map(event => {
    if (event.type !== 'error') return JSON.stringify(event)
    const { code, status, message, param } = event.error
    return JSON.stringify({ type: 'error', error: { code, status, message, param } })
  })
  return `${lines.join('\n')}\n`
}

const goldenRoot = join(import.meta.dirname, '../../../golden')

export interface Golden {
  name: string
  isStream: boolean
  bytes: Buffer
  /** The expected lines. With GOLDEN_UPDATE=1 the actual lines are written first. */
  expect(actual: string): string
}

export type GoldenFamily =
  | 'native-v1'
  | 'native-v2'
  | 'chat-compatible'
  | 'content-compatible'
  | 'messages-compatible'
  | 'responses-compatible'

export function listGoldens(family: GoldenFamily): Golden[] {
  const folder = join(goldenRoot, family)
  return readdirSync(folder)
    .filter(file => file.endsWith('.txt') || file.endsWith('.json'))
    .sort()
    .map(file => {
      const name = file.replace(/\.(txt|json)$/, '')
      const expected = join(folder, `${name}.events.jsonl`)
      return {
        name,
        isStream: file.endsWith('.txt'),
        bytes: readFileSync(join(folder, file)),
        expect(actual) {
          if (process.env.GOLDEN_UPDATE === '1') writeFileSync(expected, actual)
          return readFileSync(expected, 'utf8')
        }
      }
    })
}

export const plainOptions: NativeOptions = {
  v1Base: '/api/v1',
  v2Base: '/api/v2',
  isImageInputEnabled: true,
  jsonObjectMode: 'reject',
  parallelToolCalls: 'auto',
  attachmentLimits: { audioBytesMax: 35, imageBytesMax: 15, textBytesMax: 40, audioAndImageBytesMax: 24 }
}

/** The field paths of the completions protocol. */
export const fieldPaths: FieldPaths = {
  model: 'model',
  messages: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  output: 'response_format',
  stop: 'stop',
  attachments: 'attachments',
  previousResponse: 'previous_response_id',
  store: 'store'
}

export function makeRequest(members: Partial<NormalizedRequest> = {}): NormalizedRequest {
  return {
    version: 'gateway.normalized.v1',
    requestId: '0b6f0a52-7a51-4a0e-9c11-0d6f1b1f2a77',
    fieldPaths,
    model: 'GigaChat-2',
    isStream: false,
    wantsStreamUsage: false,
    carriesFileBytes: true,
    messages: [say('user', 'hi')],
    tools: [],
    usesLegacyFunctions: false,
    sampling: {},
    ignored: {},
    ...members
  }
}

export function say(role: NormalizedMessage['role'], text: string): NormalizedMessage {
  return { role, content: [{ type: 'text', text }] }
}
