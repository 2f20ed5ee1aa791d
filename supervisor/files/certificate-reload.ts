// Reads the gateway's own certificate and key again while it serves: on request, and when their files have changed (decisions.md 100).
// Connections that are open keep the earlier certificate.
import type { TlsPair } from '../../shared/ipc/messages.ts'
import type { Logger } from '../../shared/logging.ts'
import { readCertificates } from '../../shared/pem.ts'
import type { Settings } from '../../shared/settings.ts'
import { type FollowedFiles, type FollowOptions, followFiles } from './followed-files.ts'
import { areRegularFiles, readServerPair } from './tls-files.ts'

export interface CertificateDependencies {
  readonly log: Logger
  readonly nowMs: () => number
  /** Called with each pair that replaces the current one. */
  readonly onChanged: (pair: TlsPair) => void
}

export interface FollowedCertificate extends FollowedFiles {
  /** When the certificate in force ends, in milliseconds since the Unix epoch. */
  expiresAtMs(): number
}

export type CertificateSettings = Pick<Settings, 'useHttps' | 'httpsKeyFile' | 'httpsCertFile'>

/** Follows the files of the pair that is in force. */
export function followCertificate(
  { log, nowMs, onChanged }: CertificateDependencies,
  { settings, current, ...options }: FollowOptions & { settings: CertificateSettings; current: TlsPair }
): FollowedCertificate {
  let pair = current
  const paths = [settings.httpsKeyFile, settings.httpsCertFile].filter(path => path !== undefined)
  const expiresAtMs = () => readExpiry(pair)
  const writeEnd = () => new Date(expiresAtMs()).toISOString()

  /** The server works with it, and every client that verifies certificates refuses it. */
  function warnOfEnd(): void {
    if (expiresAtMs() >= nowMs()) return
    log.warn({ event: 'certificate_expired', expires_at: writeEnd() }, 'The certificate of the gateway has expired')
  }

  warnOfEnd()
  // What a pipe delivers comes once.
  if (!areRegularFiles(paths)) return { reload: () => undefined, close: () => undefined, expiresAtMs }
  const files = followFiles(
    {
      listPaths: () => paths,
      read: () => readServerPair(settings),
      apply(read, { isAskedFor, hasFailed }) {
        const isUnchanged = read.key === pair.key && read.cert === pair.cert
        if (isUnchanged && !isAskedFor && !hasFailed) return
        pair = read
        if (!isUnchanged) onChanged(read)
        const fields = { event: 'certificate_reloaded', expires_at: writeEnd() }
        log.info(
          fields,
          isUnchanged
            ? 'The certificate was read again; nothing has changed'
            : 'The certificate was read again; new connections get it'
        )
        warnOfEnd()
      },
      onFailed(failure) {
        const kept = 'The certificate files cannot be used, and the earlier certificate stays in force'
        log.error({ event: 'certificate_reload_failed' }, `${kept}: ${failure}`)
      }
    },
    options
  )
  return { ...files, expiresAtMs }
}

function readExpiry({ cert }: TlsPair): number {
  return readCertificates(cert)[0]?.validToDate.getTime() ?? 0
}
