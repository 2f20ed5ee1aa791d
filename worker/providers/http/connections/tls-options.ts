// Which servers are trusted, and which certificate is shown to them.

/** TLS of connections that never changes. */
export interface TlsOptions {
  /** Certificate authorities in place of the usual ones, as PEM text. */
  ca?: string | string[]
  rejectUnauthorized?: boolean
  cert?: string
  key?: string
  passphrase?: string
}
