// Asks the gateway of this container whether it answers. It imports only modules of Node, so that a check takes little time.
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'

/** Below the timeout of the container's health check. */
const TIMEOUT_MS = 4000
const DEFAULT_PORT = 8090
const TRUE_WORDS = new Set(['true', '1', 'on', 't', 'y', 'yes'])
const EVERY_ADDRESS = new Set(['', '0.0.0.0', '::', 'localhost'])

export interface HealthTarget {
  readonly isTls: boolean
  readonly hostname: string
  readonly port: number
}

/** Where the gateway of these variables listens. One that listens on every address is asked on the loopback address. */
export function findHealthTarget(environment: Readonly<Record<string, string | undefined>>): HealthTarget {
  const host = (environment.GATEWAY_HOST ?? '').replace(/^\[|\]$/g, '')
  const port = Number(environment.GATEWAY_PORT)
  return {
    isTls: TRUE_WORDS.has((environment.GATEWAY_USE_HTTPS ?? '').toLowerCase()),
    hostname: EVERY_ADDRESS.has(host) ? '127.0.0.1' : host,
    // Kubernetes sets an address for a Service named `gateway`, which the gateway ignores.
    port: Number.isInteger(port) && port > 0 ? port : DEFAULT_PORT
  }
}

/** Resolves with whether `/health` answers with 200 in time. Never rejects. */
export function askHealth({ isTls, hostname, port }: HealthTarget): Promise<boolean> {
  return new Promise(resolve => {
    const options = { hostname, port, path: '/health', timeout: TIMEOUT_MS, agent: false }
    // The certificate has the name that clients use, not this address.
    const request = isTls ? requestTls({ ...options, rejectUnauthorized: false }) : requestPlain(options)
    request.on('response', response => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
    request.on('close', () => resolve(false))
    request.end()
  })
}
