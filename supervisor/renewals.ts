// What a gateway renews while it serves, on a signal or because a file has changed: log files, certificate, keys, workers.
import type { ListenOptions } from '../shared/ipc/messages.ts'
import type { RuntimeLog } from '../shared/logging.ts'
import type { MetricRegistry } from '../shared/metrics/registry.ts'
import type { Settings } from '../shared/settings.ts'
import { type CertificateSettings, type FollowedCertificate, followCertificate } from './files/certificate-reload.ts'
import { createLogRotation } from './files/log-rotation.ts'
import type { KeysInForce } from './keys/keys-in-force.ts'
import { followKeysFile } from './keys/keys-reload.ts'
import type { OperatorSignals } from './lifecycle/signals.ts'
import type { RuntimePlan } from './plan/runtime-plan.ts'
import type { KeptServices } from './services/kept-services.ts'
import type { Fleet } from './workers/fleet.ts'

export type RenewalSignals = Pick<OperatorSignals, 'onReopen' | 'onReload' | 'onReplace'>

export interface RenewalDependencies {
  readonly runtimeLog: Pick<RuntimeLog, 'log' | 'reopen'>
  readonly signals: RenewalSignals
  readonly fleet: Pick<Fleet, 'broadcast' | 'replaceWorkers'>
  readonly kept: Pick<KeptServices, 'reopenLogs'>
  readonly keys: KeysInForce
  /** Whether the gateway serves and is not told to stop. */
  readonly isLive: () => boolean
  /** Counts files that could not be read; undefined while metrics are off. */
  readonly registry: MetricRegistry | undefined
}

export interface RenewalOptions {
  readonly plan: {
    readonly settings: CertificateSettings & Pick<Settings, 'logFilename' | 'logMaxSize' | 'logRetentionDays'>
    readonly keysFile: RuntimePlan['keysFile']
  }
  /** How the first workers listen. */
  readonly listen: ListenOptions
}

export interface Renewals {
  /** How a worker that starts now listens: with the certificate in force. */
  listen(): ListenOptions
  /** Undefined without TLS. */
  readonly certificate: FollowedCertificate | undefined
  close(): void
}

export function startRenewals(
  { runtimeLog, signals, fleet, kept, keys, isLive, registry }: RenewalDependencies,
  { plan: { settings, keysFile }, ...options }: RenewalOptions
): Renewals {
  const { log } = runtimeLog
  let { listen } = options

  const certificate =
    listen.tls &&
    followCertificate(
      {
        log,
        nowMs: Date.now,
        onChanged(tls) {
          listen = { ...listen, tls }
          fleet.broadcast({ kind: 'certificate-changed', tls })
        }
      },
      { settings, current: listen.tls }
    )
  const ignoreCertificateSignals = certificate && signals.onReload(certificate.reload)

  function reopenLogs(): void {
    runtimeLog.reopen()
    fleet.broadcast({ kind: 'reopen-log' })
    kept.reopenLogs()
  }
  const rotation = createLogRotation(
    { log, nowMs: Date.now, reopen: reopenLogs },
    { file: settings.logFilename, maxSizeBytes: settings.logMaxSize, retentionDays: settings.logRetentionDays }
  )
  const ignoreReopenSignals = signals.onReopen(reopenLogs)

  const ignoreReplaceSignals = signals.onReplace(() => {
    // A gateway that starts has new workers, and one that stops needs none.
    if (isLive()) fleet.replaceWorkers()
  })

  keys.onChanged(changed => fleet.broadcast({ kind: 'keys-changed', keys: changed }))
  const keysFollower = keysFile && followKeysFile(keysFile, { log, keys, signals, registry })

  return {
    listen: () => listen,
    certificate,
    close() {
      ignoreReopenSignals()
      ignoreReplaceSignals()
      keysFollower?.close()
      ignoreCertificateSignals?.()
      certificate?.close()
      rotation.close()
    }
  }
}
