// What the gateway writes to: log file, sinks of traffic records, store of responses, shared limits. No server is asked before the start.
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { readRedisUrl } from '../../shared/limits/redis-url.ts'
import { readStoreDsn, readStoreKey } from '../../shared/memory/dsn.ts'
import type { Settings } from '../../shared/settings.ts'
import { planSinks } from '../../shared/traffic/sinks.ts'
import type { Findings } from './findings.ts'

export function checkLogFile({ logFilename }: Settings, findings: Findings): void {
  if (!canAppendTo(logFilename)) findings.refuse('GATEWAY_LOG_FILENAME', 'must name a file that can be written')
}

export function checkSinks(settings: Settings, findings: Findings): void {
  for (const { setting, message } of planSinks(settings).issues) findings.refuse(setting, message)
}

/** What the store of responses needs, as far as it can be seen without a database (memory.md 1). */
export function checkStore(settings: Settings, findings: Findings): void {
  const { responsesStoreDsn, responsesStoreKey, responsesStoreKeyPrevious } = settings
  const keys = [
    ['GATEWAY_RESPONSES_STORE_KEY', responsesStoreKey],
    ['GATEWAY_RESPONSES_STORE_KEY_PREVIOUS', responsesStoreKeyPrevious]
  ] as const
  for (const [setting, key] of keys) {
    if (key === undefined) continue
    if (readStoreKey(key.reveal()) === undefined) findings.refuse(setting, 'must be 32 bytes in base64')
    if (responsesStoreDsn === undefined) {
      findings.warn(`${setting} has no effect while GATEWAY_RESPONSES_STORE_DSN is unset.`)
    }
  }
  if (responsesStoreDsn === undefined) return
  const setting = 'GATEWAY_RESPONSES_STORE_DSN'
  const dsn = readStoreDsn(responsesStoreDsn.reveal())
  if (dsn === undefined) findings.refuse(setting, 'must be sqlite:<path>, or an address that begins with postgres://')
  else if (dsn.kind === 'sqlite' && !canCreate(dsn.location)) {
    findings.refuse(setting, 'must name a file that can be written')
  }
  const { responsesStoreMaxBytes: one, responsesStoreMaxBytesPerKey: all } = settings
  if (all > 0 && all < one) {
    findings.warn('GATEWAY_RESPONSES_STORE_MAX_BYTES_PER_KEY is below the size of one response and bounds it as well.')
  }
}

/** The form of the address alone (keys.md 3). */
export function checkSharedLimits({ limitsRedisUrl, keysFile }: Settings, findings: Findings): void {
  const setting = 'GATEWAY_LIMITS_REDIS_URL'
  if (limitsRedisUrl === undefined) return
  if (keysFile === undefined) findings.warn(`${setting} has no effect while GATEWAY_KEYS_FILE is unset.`)
  if (readRedisUrl(limitsRedisUrl.reveal()) !== undefined) return
  findings.refuse(setting, 'must be redis://[user:password@]host[:port][/database], or the same with rediss://')
}

/** Checks permissions only, so that a preflight creates no file. */
function canAppendTo(file: string): boolean {
  try {
    const status = statSync(file, { throwIfNoEntry: false })
    if (status === undefined) accessSync(dirname(file), constants.W_OK | constants.X_OK)
    else accessSync(file, constants.W_OK)
    return status?.isDirectory() !== true
  } catch {
    return false
  }
}

/** As `canAppendTo`, for a file whose folders are made at the start. */
function canCreate(file: string): boolean {
  let folder = resolve(dirname(file))
  while (statSync(folder, { throwIfNoEntry: false }) === undefined && dirname(folder) !== folder)
    folder = dirname(folder)
  return folder === resolve(dirname(file)) ? canAppendTo(file) : canAppendTo(join(folder, 'folder'))
}
