// The bare relay, the base of the comparison: a Node proxy that parses nothing. `node:http` in, undici out, bytes passed through.

import { createServer } from 'node:http'
import { Pool } from 'undici'

const upstream = new Pool(process.env.BENCH_UPSTREAM ?? '', { connections: 1024, pipelining: 1, bodyTimeout: 0 })

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    upstream.dispatch(
      {
        path: `/api${request.url ?? ''}`,
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer bench' },
        body
      },
      {
        onRequestStart() {
          response.socket?.setNoDelay(true)
        },
        onResponseStart(_controller, status, headers) {
          const passed: Record<string, string | string[]> = {}
          for (const name of ['content-type', 'content-length']) {
            const value = headers[name]
            if (value !== undefined) passed[name] = value
          }
          response.writeHead(status, passed)
        },
        onResponseData(_controller, chunk) {
          response.write(chunk)
        },
        onResponseEnd() {
          response.end()
        },
        onResponseError(_controller, error) {
          response.destroy(error)
        }
      }
    )
  })
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 })
})
process.on('disconnect', () => process.exit(0))
