// Says in plain words why TLS failed, in place of the texts of OpenSSL, which hold places of its source (providers.md 1).

/** Codes of OpenSSL and node, by what they mean for the operator. */
const MEANINGS: ReadonlyArray<[codes: RegExp, meaning: string]> = [
  [/^CERT_HAS_EXPIRED$/, 'the certificate of the server has expired'],
  [/^CERT_NOT_YET_VALID$/, 'the certificate of the server is not valid yet'],
  [/^CERT_REVOKED$/, 'the certificate of the server is revoked'],
  [
    /^(UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_UNTRUSTED)/,
    'the certificate of the server is of an unknown authority'
  ],
  [/^HOSTNAME_MISMATCH$/, 'the certificate of the server is for another host'],
  [/_ALERT_CERTIFICATE_REQUIRED$/, 'the server requires a client certificate'],
  [/_ALERT_UNKNOWN_CA$/, 'the server refuses the client certificate: its authority is unknown there'],
  [/_ALERT_CERTIFICATE_EXPIRED$/, 'the server refuses the client certificate: it has expired'],
  [/_ALERT_CERTIFICATE_REVOKED$/, 'the server refuses the client certificate: it is revoked'],
  [/_ALERT_(BAD|UNSUPPORTED)_CERTIFICATE$/, 'the server refuses the client certificate'],
  [/_ALERT_CERTIFICATE_UNKNOWN$/, 'the server refuses the client certificate'],
  [/_ALERT_HANDSHAKE_FAILURE$/, 'the server refuses the handshake; some say so of a missing client certificate'],
  [/_ALERT_PROTOCOL_VERSION$|_UNSUPPORTED_PROTOCOL$/, 'the server speaks no version of TLS that is allowed'],
  [/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/, 'the server speaks no TLS on this port']
]

/** The reason behind the places of OpenSSL's source. */
const OPENSSL_TEXT = /:SSL routines:[^:]*:([^:]+):/

/** The text of a failure of TLS for the log. */
export function describeTlsFailure(code: string, message: string): string {
  const meaning = MEANINGS.find(([codes]) => codes.test(code))?.[1]
  return meaning ?? OPENSSL_TEXT.exec(message)?.[1] ?? message
}
