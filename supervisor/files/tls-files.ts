// Reads the TLS files that settings name and proves that they can be used, so that a mistake stops the start with the name of the
// setting instead of failing every handshake.
import { statSync } from 'node:fs'
import type { TlsPair } from '../../shared/ipc/messages.ts'
import { checkKeyPair, type Refuse, readCertificates } from '../../shared/pem.ts'
import type { Settings } from '../../shared/settings.ts'
import { StartupError, type StartupErrorDetail } from '../../shared/startup-error.ts'
import { readLastingText, readText } from './pem-files.ts'

export interface TlsFiles {
  /** PEM texts of the gateway's own certificate, when HTTPS is on. */
  readonly server: TlsPair | undefined
  /** What stops the start. */
  readonly refusals: readonly StartupErrorDetail[]
}

export function readTlsFiles(settings: Settings): TlsFiles {
  const { refusals, refuse } = collectRefusals()
  const server = readServerFiles(settings, refuse)
  checkUpstreamFiles(settings.upstream, refuse)
  return { server, refusals }
}

/** Reads the files of the gateway's own certificate again. Throws `StartupError` where they cannot be used. */
export function readServerPair(settings: ServerSettings): TlsPair {
  const { refusals, refuse } = collectRefusals()
  const pair = readServerFiles(settings, refuse)
  if (pair === undefined || refusals.length > 0) {
    throw new StartupError('invalid_profile_schema', 'The certificate cannot be used.', refusals)
  }
  return pair
}

/** Whether all of these are files that can be read more than once. */
export function areRegularFiles(paths: readonly string[]): boolean {
  return paths.every(path => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
}

type ServerSettings = Pick<Settings, 'useHttps' | 'httpsKeyFile' | 'httpsCertFile'>

function collectRefusals(): { readonly refusals: StartupErrorDetail[]; readonly refuse: Refuse } {
  const refusals: StartupErrorDetail[] = []
  return {
    refusals,
    refuse: (setting, expectation) =>
      refusals.push({ reasonId: 'invalid_settings', setting, explanation: `${setting} ${expectation}` })
  }
}

function readServerFiles(settings: ServerSettings, refuse: Refuse): TlsFiles['server'] {
  if (!settings.useHttps) return undefined
  const [keySetting, certSetting] = ['GATEWAY_HTTPS_KEY_FILE', 'GATEWAY_HTTPS_CERT_FILE']
  const readNeeded = (setting: string, file: string | undefined) => {
    if (file === undefined) refuse(setting, 'must be set when GATEWAY_USE_HTTPS is on')
    return readText(setting, file, refuse)
  }
  const key = readNeeded(keySetting, settings.httpsKeyFile)
  const cert = readNeeded(certSetting, settings.httpsCertFile)
  if (key === undefined || cert === undefined) return undefined
  checkKeyPair({ certSetting, cert, keySetting, key }, refuse)
  return { key, cert }
}

function checkUpstreamFiles(upstream: Settings['upstream'], refuse: Refuse): void {
  const authorities = readLastingText('UPSTREAM_CA_BUNDLE_FILE', upstream.caBundleFile, refuse)
  // Node skips what it cannot read in a bundle without an error, and then no certificate would be trusted.
  if (authorities !== undefined && readCertificates(authorities).length === 0) {
    refuse('UPSTREAM_CA_BUNDLE_FILE', 'must name a file with nothing but valid certificates in PEM form')
  }
  const certSetting = 'UPSTREAM_CERT_FILE'
  const cert = readLastingText(certSetting, upstream.certFile, refuse)
  if (cert === undefined) return
  const isSeparate = upstream.keyFile !== undefined
  const key = isSeparate ? readLastingText('UPSTREAM_KEY_FILE', upstream.keyFile, refuse) : cert
  if (key === undefined) return
  const keySetting = isSeparate ? 'UPSTREAM_KEY_FILE' : certSetting
  const password = { setting: 'UPSTREAM_KEY_FILE_PASSWORD', text: upstream.keyFilePassword?.reveal() }
  checkKeyPair({ certSetting, cert, keySetting, key, password }, refuse)
}
