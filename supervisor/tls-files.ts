// Reads the TLS files that settings name and proves that they can be used, so that a mistake stops the start with the name of the
// setting instead of failing every handshake.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Settings } from '../shared/settings.ts'
import type { StartupErrorDetail } from '../shared/startup-error.ts'
import { readTextFile } from '../shared/text-file.ts'

export interface TlsFiles {
  /** PEM texts of the gateway's own certificate, when HTTPS is on. */
  readonly server: { readonly key: string; readonly cert: string } | undefined
  /** What stops the start. */
  readonly refusals: readonly StartupErrorDetail[]
}

type Refuse = (setting: string, expectation: string) => void

interface KeyPair {
  readonly certSetting: string
  readonly cert: string
  readonly keySetting: string
  readonly key: string
  /** Absent where no password can be given. */
  readonly password?: { readonly setting: string; readonly text: string | undefined }
}

export function readTlsFiles(settings: Settings): TlsFiles {
  const refusals: StartupErrorDetail[] = []
  const refuse: Refuse = (setting, expectation) =>
    refusals.push({ reasonId: 'invalid_settings', setting, explanation: `${setting} ${expectation}` })
  const server = readServerFiles(settings, refuse)
  checkUpstreamFiles(settings.upstream, refuse)
  return { server, refusals }
}

function readServerFiles(settings: Settings, refuse: Refuse): TlsFiles['server'] {
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

/** Reads a file that every worker reads again: a pipe delivers its text once. */
function readLastingText(setting: string, file: string | undefined, refuse: Refuse): string | undefined {
  return readText(setting, file, refuse, path => {
    if (!statSync(path).isFile()) throw new Error('The file is no regular file.')
    return readTextFile(path)
  })
}

function readText(
  setting: string,
  file: string | undefined,
  refuse: Refuse,
  read: (path: string) => string = readTextFile
): string | undefined {
  if (file === undefined) return undefined
  try {
    return read(file)
  } catch {
    refuse(setting, 'must name a readable file')
    return undefined
  }
}

function checkKeyPair(pair: KeyPair, refuse: Refuse): void {
  const [certificate] = readCertificates(pair.cert)
  if (certificate === undefined) refuse(pair.certSetting, 'must name a file with a valid certificate in PEM form')
  const key = readKey(pair, refuse)
  if (certificate === undefined || key === undefined) return
  if (!certificate.checkPrivateKey(key)) {
    refuse(pair.keySetting, `must hold the key of the certificate that ${pair.certSetting} names`)
  } else if (!isAcceptable(pair)) {
    refuse(pair.certSetting, 'must name a certificate that TLS accepts; the key of this one may be too short')
  }
}

const CERTIFICATE = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[\s\S]*?-----END \1-----/g

/** All certificates of a PEM text, the first one first; none when one of them is not valid. */
function readCertificates(text: string): X509Certificate[] {
  try {
    return (text.match(CERTIFICATE) ?? []).map(block => new X509Certificate(block))
  } catch {
    return []
  }
}

const ENCRYPTED_KEY = /^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m

function readKey({ keySetting, key, password }: KeyPair, refuse: Refuse): KeyObject | undefined {
  const passphrase = password?.text
  try {
    return createPrivateKey({ key, ...(passphrase !== undefined && { passphrase }) })
  } catch {
    if (!ENCRYPTED_KEY.test(key)) refuse(keySetting, 'must name a file with a private key in PEM form')
    else if (password === undefined) refuse(keySetting, 'must name a private key that needs no password')
    else refuse(password.setting, `must be the password of the private key that ${keySetting} names`)
    return undefined
  }
}

/** Whether OpenSSL takes the pair at the security level of this build. */
function isAcceptable({ cert, key, password }: KeyPair): boolean {
  try {
    createSecureContext({ cert, key, passphrase: password?.text })
    return true
  } catch {
    return false
  }
}
