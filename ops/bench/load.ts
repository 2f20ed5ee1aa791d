// Load generator: one request in flight per socket.

import { performance } from 'node:perf_hooks'
import { exchange, openSocket, writeHttpRequest } from './http-exchange.ts'

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

/** Sends `requests` requests over `connections` sockets and resolves when all have a response. Rejects when a socket breaks. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const request = writeHttpRequest(options)
  const result: LoadResult = { requests: 0, elapsedMs: 0, firstContentMs: [], failures: 0 }
  let started = 0
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: Math.min(options.connections, options.requests) }, async () => {
      const socket = await openSocket(options.port)
      try {
        while (started < options.requests) {
          started++
          const sentAt = performance.now()
          let sawContent = false
          const { status } = await exchange(socket, request, bytes => {
            if (sawContent || !bytes.includes('"content":"')) return
            sawContent = true
            result.firstContentMs.push(performance.now() - sentAt)
          })
          result.requests++
          if (status !== 200) result.failures++
        }
      } finally {
        socket.destroy()
      }
    })
  )
  result.elapsedMs = performance.now() - startedAt
  return result
}
