// The upstream of a comparison: for the first gateway a recording proxy in front of the emulator, for the second a replay of that
// recording. Both gateways get the same bytes, ids and timestamps, so that any difference between their responses is their own.

import { createServer, type IncomingMessage, request as openRequest, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WireRequest } from './types.ts'

/** One recorded exchange; without a status the connection closed, or stayed silent, before the response began. */
interface Recording {
  request: WireRequest
  status: number | undefined
  headers: string[]
  chunks: Buffer[]
  /** `open`: the gateway closed the connection while the upstream was silent. */
  end: 'complete' | 'destroyed' | 'open'
}

export interface ComparedUpstream {
  port: number
  /** The requests since the last call, in the order of their arrival, as soon as every exchange has ended. */
  takeRequests(): Promise<WireRequest[]>
  close(): Promise<void>
}

export interface RecordingUpstream extends ComparedUpstream {
  /** The exchanges since the last call. Call it after `takeRequests`. */
  takeRecordings(): Recording[]
}

export interface ReplayingUpstream extends ComparedUpstream {
  /** Sets the exchanges that the next requests are answered from. */
  load(recordings: Recording[]): void
}

const HOP_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding'])
/** No status of the emulator, so that an unrecorded request shows in the response too. */
const STATUS_UNRECORDED = 599
const IDLE_DEADLINE_MS = 10_000

/** Starts a proxy in front of the emulator on `emulatorPort` that keeps every exchange. */
export async function startRecording(emulatorPort: number): Promise<RecordingUpstream> {
  let recordings: Recording[] = []
  const upstream = await startServer(async (request, response) => {
    const recording: Recording = { request, status: undefined, headers: [], chunks: [], end: 'open' }
    recordings.push(recording)
    await forward(emulatorPort, recording, response)
  })
  return {
    ...upstream,
    takeRecordings() {
      const taken = recordings
      recordings = []
      return taken
    }
  }
}

/** Starts a server that answers from recordings: first from an equal request, else from the next one of the same path. */
export async function startReplaying(): Promise<ReplayingUpstream> {
  let waiting: Recording[] = []
  const upstream = await startServer(async (request, response) => {
    const isSamePath = (entry: Recording) =>
      entry.request.method === request.method && entry.request.path === request.path
    const equal = waiting.find(entry => isSamePath(entry) && entry.request.body.equals(request.body))
    const recording = equal ?? waiting.find(isSamePath)
    if (recording === undefined) {
      response.writeHead(STATUS_UNRECORDED).end(`{"message":"unrecorded ${request.method} ${request.path}"}`)
      return
    }
    waiting = waiting.filter(entry => entry !== recording)
    await replay(recording, response)
  })
  return {
    ...upstream,
    load(recordings) {
      waiting = recordings
    }
  }
}

type Handle = (request: WireRequest, response: ServerResponse) => Promise<void>

async function startServer(handle: Handle): Promise<ComparedUpstream> {
  let requests: WireRequest[] = []
  let activeCount = 0
  let onIdle: (() => void) | undefined
  const server = createServer((incoming, response) => {
    activeCount++
    response.once('close', () => {
      activeCount--
      if (activeCount === 0) onIdle?.()
    })
    void readRequest(incoming).then(request => {
      requests.push(request)
      return handle(request, response)
    })
  })
  server.keepAliveTimeout = 60_000
  const port = await listen(server)
  return {
    port,
    async takeRequests() {
      if (activeCount > 0) {
        await new Promise<void>((resolve, reject) => {
          const failed = new Error('The gateway keeps an upstream call open after its response has ended.')
          const timer = setTimeout(() => reject(failed), IDLE_DEADLINE_MS)
          onIdle = () => {
            clearTimeout(timer)
            resolve()
          }
        })
        onIdle = undefined
      }
      const taken = requests
      requests = []
      return taken
    },
    close() {
      return new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    }
  }
}

async function readRequest(incoming: IncomingMessage): Promise<WireRequest> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
  } catch {
    // A request that the gateway gave up is kept as far as it came.
  }
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.rawHeaders,
    body: Buffer.concat(chunks)
  }
}

function forward(port: number, recording: Recording, response: ServerResponse): Promise<void> {
  const { method, path, headers, body } = recording.request
  return new Promise(resolve => {
    response.once('close', () => {
      call.destroy()
      resolve()
    })
    const breakOff = () => {
      if (response.destroyed) return
      recording.end = 'destroyed'
      response.socket?.destroy()
    }
    const call = openRequest({ host: '127.0.0.1', port, method, path, headers: dropHopHeaders(headers), agent: false })
    call.on('error', breakOff)
    call.on('response', incoming => {
      recording.status = incoming.statusCode ?? 0
      recording.headers = dropHopHeaders(incoming.rawHeaders)
      response.writeHead(recording.status, recording.headers)
      response.flushHeaders()
      incoming.on('data', (chunk: Buffer) => {
        recording.chunks.push(chunk)
        response.write(chunk)
      })
      incoming.on('end', () => {
        recording.end = 'complete'
        response.end()
      })
      incoming.on('error', breakOff)
    })
    call.end(body)
  })
}

async function replay(recording: Recording, response: ServerResponse): Promise<void> {
  if (recording.status !== undefined) {
    response.writeHead(recording.status, recording.headers)
    response.flushHeaders()
    for (const chunk of recording.chunks) {
      response.write(chunk)
      // Gives each chunk a segment of its own, as it had in the recording.
      await nextTurn()
    }
  }
  if (recording.end === 'complete') response.end()
  else if (recording.end === 'destroyed') destroyAfterFlush(response)
}

/** Closes the connection in the middle of a response, after what was written has left this process. */
function destroyAfterFlush(response: ServerResponse): void {
  const { socket } = response
  if (socket === null || socket.writableLength === 0) socket?.destroy()
  else socket.once('drain', () => socket.destroy())
}

function dropHopHeaders(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2)
    if (!HOP_HEADERS.has(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}
