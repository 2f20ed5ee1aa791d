// One HTTP exchange on a raw socket, so that the processes that measure use little processor time themselves.

import { connect, type Socket } from 'node:net'

/** The key that the measured gateways expect. */
export const LOAD_KEY = 'bench-key-0123456789'

const HEAD_END = '\r\n\r\n'
const CHUNKED_END = '\r\n0\r\n\r\n'

export interface RequestText {
  method?: 'GET' | 'POST'
  port: number
  path: string
  body?: string
}

export interface ResponseSummary {
  status: number
  /** False: the server closes the connection after this response. */
  isReusable: boolean
}

/** Writes a whole request with the key that the measured gateway expects. */
export function writeHttpRequest({ method = 'POST', path, port, body = '' }: RequestText): Buffer {
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    `authorization: Bearer ${LOAD_KEY}`,
    `content-length: ${Buffer.byteLength(body)}`
  ]
  return Buffer.from(`${head.join('\r\n')}${HEAD_END}${body}`)
}

export function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

/**
 * Sends a request and reads its response to the end. Rejects when the socket closes before that.
 * @param onBody gets each piece of the body, chunk headers included.
 */
export function exchange(
  socket: Socket,
  request: Buffer,
  onBody?: (bytes: Buffer, status: number) => void
): Promise<ResponseSummary> {
  return new Promise((resolve, reject) => {
    let head = ''
    let status = 0
    let bodyBytesLeft = -1
    let isChunked = false
    let isReusable = true
    let tail = ''

    const finish = (error?: Error) => {
      socket.removeListener('data', onData)
      socket.removeListener('close', onClose)
      if (error === undefined) resolve({ status, isReusable })
      else reject(error)
    }
    const onClose = () => finish(new Error('The target closed a connection in the middle of a response.'))
    const onData = (bytes: Buffer) => {
      let body = bytes
      if (bodyBytesLeft < 0 && !isChunked) {
        head += bytes.toString('latin1')
        const end = head.indexOf(HEAD_END)
        if (end < 0) return
        status = Number(head.slice(9, 12))
        body = Buffer.from(head.slice(end + HEAD_END.length), 'latin1')
        const lower = head.slice(0, end).toLowerCase()
        isChunked = lower.includes('transfer-encoding: chunked')
        isReusable = !lower.includes('connection: close')
        bodyBytesLeft = isChunked ? 0 : Number(/content-length: (\d+)/.exec(lower)?.[1] ?? 0)
      }
      onBody?.(body, status)
      if (isChunked) {
        tail = (tail + body.subarray(-CHUNKED_END.length).toString('latin1')).slice(-CHUNKED_END.length)
        if (tail === CHUNKED_END) finish()
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
