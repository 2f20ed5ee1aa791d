// Load generator on raw sockets: one request in flight per socket, so that the generator itself uses little processor time.

import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

export interface LoadOptions {
  port: number
  /** Path of the request. */
  path: string
  body: string
  /** Sockets, each with one request in flight. */
  connections: number
  /** Requests in total. */
  requests: number
}

export interface LoadResult {
  requests: number
  elapsedMs: number
  /** Milliseconds from sending to the first byte of the first content, per request. */
  firstContentMs: number[]
  failures: number
}

const HEAD_END = '\r\n\r\n'

/** Sends `requests` requests over `connections` sockets and resolves when all have a response. Rejects when a socket breaks. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const request = writeRequest(options)
  const result: LoadResult = { requests: 0, elapsedMs: 0, firstContentMs: [], failures: 0 }
  let started = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: Math.min(options.connections, options.requests) }, async () => {
      const socket = await open(options.port)
      try {
        while (started < options.requests) {
          started++
          await exchange(socket, request, result)
        }
      } finally {
        socket.destroy()
      }
    })
  )
  result.elapsedMs = performance.now() - startedAt
  return result
}

function writeRequest({ path, port, body }: LoadOptions): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    'authorization: Bearer bench-key-0123456789',
    `content-length: ${Buffer.byteLength(body)}`
  ]
  return Buffer.from(`${head.join('\r\n')}${HEAD_END}${body}`)
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

function exchange(socket: Socket, request: Buffer, result: LoadResult): Promise<void> {
  return new Promise((resolve, reject) => {
    const sentAt = performance.now()
    let head = ''
    let bodyBytesLeft = -1
    let isChunked = false
    let tail = ''
    let sawContent = false

    const finish = (error?: Error) => {
      socket.removeListener('data', onData)
      socket.removeListener('close', onClose)
      if (error !== undefined) return reject(error)
      result.requests++
      resolve()
    }
    const onClose = () => finish(new Error('The target closed a connection in the middle of a response.'))
    const onData = (bytes: Buffer) => {
      let body = bytes
      if (bodyBytesLeft < 0 && !isChunked) {
        head += bytes.toString('latin1')
        const end = head.indexOf(HEAD_END)
        if (end < 0) return
        if (!head.startsWith('HTTP/1.1 200')) result.failures++
        body = Buffer.from(head.slice(end + HEAD_END.length), 'latin1')
        const lower = head.slice(0, end).toLowerCase()
        isChunked = lower.includes('transfer-encoding: chunked')
        bodyBytesLeft = isChunked ? 0 : Number(/content-length: (\d+)/.exec(lower)?.[1] ?? 0)
      }
      if (!sawContent && body.includes('"content":"')) {
        sawContent = true
        result.firstContentMs.push(performance.now() - sentAt)
      }
      if (isChunked) {
        tail = (tail + body.subarray(-8).toString('latin1')).slice(-8)
        if (tail.endsWith('\r\n0\r\n\r\n')) finish()
        return
      }
      bodyBytesLeft -= body.length
      if (bodyBytesLeft <= 0) finish()
    }
    socket.on('data', onData)
    socket.once('close', onClose)
    socket.write(request)
  })
}
