// The TLS files of a provider: the authorities, and the certificate that is shown to it. A profile names them, or the settings of
// the native upstream do. They are read again when they change (providers.md 1, row `tls_policy_ref`; decisions.md 100).

import { readFile, stat } from 'node:fs/promises'
import type { SecureContext } from 'node:tls'
import { dropByteOrderMark } from '../../../../shared/bytes.ts'
import { withDeadline } from '../../../../shared/deadline.ts'
import { readFileState } from '../../../../shared/file-state.ts'
import type { Logger } from '../../../../shared/logging.ts'
import { checkKeyPair, readCertificates } from '../../../../shared/pem.ts'
import type { ProviderProfile } from '../../../../shared/profile/profile.ts'
import type { Settings } from '../../../../shared/settings.ts'
import { type ContextTexts, findContext } from './tls-context.ts'

export type TlsFilePaths = Pick<ProviderProfile, 'caFile' | 'clientCertFile' | 'clientKeyFile'>

/** The files of the settings, for a native upstream. */
export type SettingsFiles = Partial<
  Pick<Settings['upstream'], 'caBundleFile' | 'certFile' | 'keyFile' | 'keyFilePassword'>
>

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

/** A file cannot be used. The message names the member or the setting, never a path or a text. */
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
  /** Where the profile names no authorities, or no certificate, those of the settings. */
  settings?: SettingsFiles
  log: Logger
  /** Milliseconds of a clock that never goes back. */
  monotonicMs?: () => number
}

/** Many connections at once look at the files once. */
const CHECK_INTERVAL_MS = 1000
/** A file system that does not respond holds back no connection for longer than this. */
const CHECK_DEADLINE_MS = 1000
const FILE_BYTES_MAX = 1024 * 1024

/** Begins to read the files of a provider; undefined where none is named. */
export function openTlsFiles(options: TlsFilesOptions): TlsFiles | undefined {
  const sources = listSources(options.paths, options.settings ?? {})
  return sources.ca === undefined && sources.cert === undefined ? undefined : createTlsFiles(sources, options)
}

/** A file, and the member or the setting that names it. */
interface Source {
  readonly name: string
  readonly path: string
}

interface Sources {
  readonly ca: Source | undefined
  /** The authorities stand beside those of the system, not in their place. */
  readonly isExtra: boolean
  readonly cert: Source | undefined
  readonly key: Source | undefined
  /** Absent where no password can be given. */
  readonly password?: { readonly setting: string; readonly text: string | undefined }
}

function listSources({ caFile, clientCertFile, clientKeyFile }: TlsFilePaths, settings: SettingsFiles): Sources {
  const source = (name: string, path: string | undefined) => (path === undefined ? undefined : { name, path })
  const isExtra = caFile !== undefined
  const ca = source('ca_file', caFile) ?? source('UPSTREAM_CA_BUNDLE_FILE', settings.caBundleFile)
  if (clientCertFile !== undefined) {
    const cert = source('client_cert_file', clientCertFile)
    return { ca, isExtra, cert, key: source('client_key_file', clientKeyFile) ?? cert }
  }
  const cert = source('UPSTREAM_CERT_FILE', settings.certFile)
  const key = cert && (source('UPSTREAM_KEY_FILE', settings.keyFile) ?? cert)
  const text = settings.keyFilePassword?.reveal()
  return { ca, isExtra, cert, key, password: { setting: 'UPSTREAM_KEY_FILE_PASSWORD', text } }
}

function createTlsFiles(sources: Sources, options: TlsFilesOptions): TlsFiles {
  const { profileId: profile, log } = options
  const { monotonicMs = () => performance.now() } = options
  const paths = [sources.ca, sources.cert, sources.key].flatMap(source => (source === undefined ? [] : [source.path]))
  let current: TlsMaterial | undefined
  /** Of the files that `current` was made of. */
  let currentState: string | undefined
  /** Why the files cannot be used as they are; it is reported once for each state of them. */
  let problem: { state: string; cause: string } | undefined
  let checkedAtMs = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | undefined

  async function check(): Promise<void> {
    const state = await readFileState(paths)
    if (state === currentState) return
    try {
      const texts = await readTexts(sources)
      const isFirst = current === undefined && problem === undefined
      current = createMaterial(texts, sources)
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
  ca: string | undefined
  cert: string | undefined
  key: string | undefined
}

async function readTexts(sources: Sources): Promise<TlsTexts> {
  const [ca, cert, key] = await Promise.all([sources.ca, sources.cert, sources.key].map(readText))
  return { ca, cert, key }
}

async function readText(source: Source | undefined): Promise<string | undefined> {
  if (source === undefined) return undefined
  try {
    const { size } = await statFile(source.path)
    if (size > FILE_BYTES_MAX) throw new Error('The file is too large.')
    return dropByteOrderMark(await readFile(source.path)).toString('utf8')
  } catch {
    throw new TlsFilesError(`${source.name} must name a readable file.`)
  }
}

/** A pipe delivers its text once, and may have none. */
async function statFile(path: string): Promise<{ size: number }> {
  const found = await stat(path)
  if (!found.isFile()) throw new Error('The file is no regular file.')
  return found
}

function createMaterial({ ca, cert, key }: TlsTexts, sources: Sources): TlsMaterial {
  const { isExtra, password } = sources
  const refuse = (name: string, expectation: string): never => {
    throw new TlsFilesError(`${name} ${expectation}.`)
  }
  // Node skips what it cannot read in a bundle without an error, and then no certificate would be trusted.
  if (sources.ca !== undefined && readCertificates(ca ?? '').length === 0) {
    refuse(sources.ca.name, 'must name a file with nothing but valid certificates in PEM form')
  }
  const trust: ContextTexts = isExtra ? { extraCa: ca } : { ca }
  let shown: ContextTexts = {}
  if (sources.cert !== undefined && sources.key !== undefined && cert !== undefined && key !== undefined) {
    const pair = { certSetting: sources.cert.name, cert, keySetting: sources.key.name, key }
    checkKeyPair({ ...pair, ...(password !== undefined && { password }) }, refuse)
    shown = { cert, key, ...(password?.text !== undefined && { passphrase: password.text }) }
  }
  return {
    provider: findContext({ ...trust, ...shown }),
    // Few proxies speak TLS.
    get proxy() {
      return findContext(trust)
    },
    clientCertificate: shown.cert
  }
}
