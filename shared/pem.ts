// Proves that certificates and keys in PEM form can be used. What is wrong is said with the name of a
// setting or of a member of a profile, never with a path or a text.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'

/** Called with what names a file, a setting or a member of a profile, and with what it must be. */
export type Refuse = (name: string, expectation: string) => void

export interface KeyPair {
  readonly certSetting: string
  readonly cert: string
  readonly keySetting: string
  readonly key: string
  /** Absent where no password can be given. */
  readonly password?: { readonly setting: string; readonly text: string | undefined }
}

/** Proves that a certificate and a key belong together and that TLS takes them. */
export function checkKeyPair(pair: KeyPair, refuse: Refuse): void {
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
export function readCertificates(text: string): X509Certificate[] {
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
