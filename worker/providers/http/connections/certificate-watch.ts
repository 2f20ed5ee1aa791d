// Sees when the certificates of a provider's connections end: that of the provider on each new
// connection, and the one that is shown to it (bridge.md 5.4).

import { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { buildConnector } from 'undici'
import type { SeenCertificate, SeenCertificates } from '../../../../shared/provider-health.ts'

export interface CertificateWatch {
  /** Looks at the certificate of each connection that the connector makes. */
  watch(connect: buildConnector.connector): buildConnector.connector
  /** Looks at the certificate that is shown to the provider, as PEM text; its first one where there are several. */
  noteClient(pem: string): void
  read(): SeenCertificates
}

/** @param now milliseconds since the epoch. */
export function createCertificateWatch(now: () => number = Date.now): CertificateWatch {
  let provider: SeenCertificate | null = null
  let client: SeenCertificate | null = null
  const see = (validTo: string | undefined): SeenCertificate | null => {
    const expiresAtMs = Date.parse(validTo ?? '')
    return Number.isNaN(expiresAtMs) ? null : { expiresAtMs, seenAtMs: now() }
  }
  return {
    watch: connect => (options, callback) =>
      connect(options, (...result) => {
        provider = see(result[1] === null ? undefined : readPeer(result[1])) ?? provider
        callback(...result)
      }),
    noteClient(pem) {
      try {
        client = see(new X509Certificate(pem).validTo) ?? client
      } catch {
        // A file that cannot be read fails the connection, which reports it.
      }
    },
    read: () => ({ provider, client })
  }
}

/** Undefined for a connection without TLS, and for one that took up an earlier session without its certificate. */
function readPeer(socket: Socket): string | undefined {
  return socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.validTo : undefined
}
