// A TLS server that demands a client certificate and ends the connection with an alert, as servers with OpenSSL do. A server of node
// closes the connection without one.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { findFreePort } from '../../ops/net/free-port.ts'
import type { Authority, Issued } from './certificates.ts'

/**
 * Starts the server; it ends with the test.
 * @param authority of the certificates that it accepts.
 * @returns its port on this machine.
 */
export async function startDemandingServer(t: Test, server: Issued, authority: Authority): Promise<number> {
  const port = await findFreePort()
  const files = ['-cert', server.certFile, '-key', server.keyFile, '-CAfile', authority.certFile]
  const verify = ['-Verify', '1', '-verify_return_error']
  const child = spawn('openssl', ['s_server', '-accept', `127.0.0.1:${port}`, ...files, ...verify, '-www'], {
    stdio: ['ignore', 'pipe', 'ignore']
  })
  t.teardown(async () => {
    const exited = once(child, 'exit')
    child.kill()
    await exited
  })
  // It writes before it listens as well.
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('ACCEPT')) return port
  throw new Error('The server ended before it listened.')
}
