// The TLS files of a profile: the authorities beside those of the system, and the certificate that is
// shown to the provider. They are read again when they change (providers.md 1, row `tls_policy_ref`).

import { readFile, stat } from 'node:fs/promises'
import type { SecureContext } from 'node:tls'
import { dropByteOrderMark } from '../../../shared/bytes.ts'
import { withDeadline } from '../../../shared/deadline.ts'
import { readFileState } from '../../../shared/file-state.ts'
import type { Logger } from '../../../shared/logging.ts'
import { checkKeyPair, readCertificates } from '../../../shared/pem.ts'
import type { ProviderProfile } from '../../../shared/profile.ts'
import { findContext } from './tls-context.ts'
import type { TlsOptions } from './tls-options.ts'

export type TlsFilePaths = Pick<ProviderProfile, 'caFile' | 'clientCertFile' | 'clientKeyFile'>

/** Whose certificate a connection checks. */
export type TlsPeer = 'provider' | 'proxy'

/** What new connections use. Another object stands for other files. */
export interface TlsMaterial {
  /** For connections to the provider. */
  readonly provider: SecureContext
  /** For connections to a proxy that speaks TLS: the same authorities, and no certificate of the gateway. */
  readonly proxy: SecureContext
  /** The certificate that is shown to the provider, in PEM form. */
  readonly clientCertificate: string | undefined
}

/** A file of a profile cannot be used. The message names the member, never a path or a text. */
export class TlsFilesError extends Error {
  readonly code = 'ERR_TLS_FILES'
}

export interface TlsFiles {
  /** Resolves with what the files hold now. Rejects with `TlsFilesError` only where they could never be used. */
  read(): Promise<TlsMaterial>
}

export interface TlsFilesOptions {
  profileId: string
  paths: TlsFilePaths
  /** What the files do not say: the authorities and the certificate of the settings. */
  otherwise?: TlsOptions
  log: Logger
  /** Milliseconds of a clock that never goes back. */
  monotonicMs?: () => number
}

/** Many connections at once look at the files once. */
const CHECK_INTERVAL_MS = 1000
/** A file system that does not respond holds back no connection for longer than this. */
const CHECK_DEADLINE_MS = 1000
const FILE_BYTES_MAX = 1024 * 1024

/** Begins to read the files of a profile; undefined where it names none. */
export function openTlsFiles(options: TlsFilesOptions): TlsFiles | undefined {
  const { caFile, clientCertFile } = options.paths
  return caFile === undefined && clientCertFile === undefined ? undefined : createTlsFiles(options)
}

function createTlsFiles(options: TlsFilesOptions): TlsFiles {
  const { profileId: profile, paths, otherwise = {}, log } = options
  const { monotonicMs = () => performance.now() } = options
  let current: TlsMaterial | undefined
  /** Of the files that `current` was made of. */
  let currentState: string | undefined
  /** Why the files cannot be used as they are; it is reported once for each state of them. */
  let problem: { state: string; cause: string } | undefined
  let checkedAtMs = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | undefined

  async function check(): Promise<void> {
    const state = await readFileState(Object.values(listPaths(paths)))
    if (state === currentState) return
    try {
      const texts = await readTexts(paths)
      const isFirst = current === undefined && problem === undefined
      current = createMaterial(texts, otherwise)
      currentState = state
      problem = undefined
      if (!isFirst) log.info({ event: 'provider_tls_files_read', profile }, 'Read changed TLS files of a provider')
    } catch (thrown) {
      const cause = thrown instanceof TlsFilesError ? thrown.message : 'TLS does not accept the files.'
      if (problem?.state === state && problem.cause === cause) return
      problem = { state, cause }
      const isOlderUsed = current !== undefined
      log.warn(
        { event: 'provider_tls_files_unusable', profile, cause, is_older_used: isOlderUsed },
        'The TLS files of a provider cannot be used'
      )
    }
  }

  function beginCheck(): Promise<void> {
    checkedAtMs = monotonicMs()
    checking ??= check().finally(() => {
      checking = undefined
    })
    return checking
  }

  // The first connection does not wait for the files then.
  void beginCheck()

  return {
    async read() {
      const isDue = monotonicMs() - checkedAtMs >= CHECK_INTERVAL_MS
      if (isDue || checking !== undefined || current === undefined) {
        await withDeadline(beginCheck(), CHECK_DEADLINE_MS)
      }
      if (current === undefined) throw new TlsFilesError(problem?.cause ?? 'The TLS files cannot be read in time.')
      return current
    }
  }
}

interface TlsTexts {
  ca?: string
  cert?: string
  key?: string
}

function listPaths({ caFile, clientCertFile, clientKeyFile = clientCertFile }: TlsFilePaths): Record<string, string> {
  return {
    ...(caFile !== undefined && { ca: caFile }),
    ...(clientCertFile !== undefined && { cert: clientCertFile }),
    ...(clientCertFile !== undefined && clientKeyFile !== undefined && { key: clientKeyFile })
  }
}

const MEMBERS: Record<string, string> = { ca: 'ca_file', cert: 'client_cert_file', key: 'client_key_file' }

async function readTexts(paths: TlsFilePaths): Promise<TlsTexts> {
  const entries = await Promise.all(
    Object.entries(listPaths(paths)).map(async ([name, path]) => [name, await readText(MEMBERS[name] ?? name, path)])
  )
  return Object.fromEntries(entries)
}

async function readText(member: string, path: string): Promise<string> {
  try {
    const { size } = await statFile(path)
    if (size > FILE_BYTES_MAX) throw new Error('The file is too large.')
    return dropByteOrderMark(await readFile(path)).toString('utf8')
  } catch {
    throw new TlsFilesError(`${member} must name a readable file.`)
  }
}

/** A pipe delivers its text once, and may have none. */
async function statFile(path: string): Promise<{ size: number }> {
  const found = await stat(path)
  if (!found.isFile()) throw new Error('The file is no regular file.')
  return found
}

function createMaterial(texts: TlsTexts, otherwise: TlsOptions): TlsMaterial {
  const { cert, key } = texts
  const refuse = (member: string, expectation: string): never => {
    throw new TlsFilesError(`${member} ${expectation}.`)
  }
  // Node skips what it cannot read in a bundle without an error, and then no certificate would be trusted.
  if (texts.ca !== undefined && readCertificates(texts.ca).length === 0) {
    refuse('ca_file', 'must name a file with nothing but valid certificates in PEM form')
  }
  if (cert !== undefined && key !== undefined) {
    checkKeyPair({ certSetting: 'client_cert_file', cert, keySetting: 'client_key_file', key }, refuse)
  }
  const trust = texts.ca === undefined ? { ca: otherwise.ca } : { extraCa: texts.ca }
  const shown = cert === undefined ? pickCertificate(otherwise) : { cert, key: key ?? cert }
  return {
    provider: findContext({ ...trust, ...shown }),
    // Few proxies speak TLS.
    get proxy() {
      return findContext(trust)
    },
    clientCertificate: shown.cert
  }
}

function pickCertificate({ cert, key, passphrase }: TlsOptions): Pick<TlsOptions, 'cert' | 'key' | 'passphrase'> {
  return {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(passphrase !== undefined && { passphrase })
  }
}
