// Keeps the alert with which a server ends TLS after the handshake, such as that of a missing client
// certificate (RFC 8446, section 4.4.2.4). Node emits it as an error of a socket that stays open for
// the end of the stream, and the HTTP client then reports the end instead.

import { TLSSocket } from 'node:tls'
import type { buildConnector } from 'undici'

/** Returns a connector whose connections are closed by their first error. */
export function keepAlerts(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connect(options, (...result) => {
      const [, socket] = result
      if (socket instanceof TLSSocket) socket.once('error', error => socket.destroy(error))
      callback(...result)
    })
  }
}
