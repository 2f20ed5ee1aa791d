// The settings of the native upstream and of the proxies in front of it (upstream.md 1.2).
import type { SectionRows } from './row.ts'
import * as kind from './types.ts'

/** The rows of the native upstream: its addresses, credentials, TLS files, timeouts and retries. */
export function upstreamRows(add: SectionRows) {
  return {
    UPSTREAM_BASE_URL: add.withDefault(kind.baseUrl, 'https://api.giga.chat/v1', 'API base of the native upstream.'),
    UPSTREAM_AUTH_URL: add.withDefault(
      kind.url,
      'https://ngw.devices.sberbank.ru:9443/api/v2/oauth',
      'Full URL of the OAuth token endpoint.'
    ),
    UPSTREAM_CREDENTIALS: add.optional(kind.secret, 'Authorization key: base64 of `client_id:client_secret`.', {
      secret: true
    }),
    UPSTREAM_SCOPE: add.withDefault(kind.name, 'GIGACHAT_API_PERS', 'Account scope that a token is requested for.'),
    UPSTREAM_ACCESS_TOKEN: add.optional(
      kind.secret,
      'Bearer token that is used first; when it is refused, credentials fetch another.',
      { secret: true }
    ),
    UPSTREAM_USER: add.optional(kind.name, 'User name for password authorization.'),
    UPSTREAM_PASSWORD: add.optional(kind.secret, 'Password for password authorization.', { secret: true }),
    UPSTREAM_MODEL: add.optional(kind.shownName, 'Model for requests that name no model.'),
    UPSTREAM_PROFANITY_CHECK: add.optional(kind.boolean, "Switch the upstream's own content filter on or off."),
    UPSTREAM_TIMEOUT: add.withDefault(
      kind.decimal({ above: 0, max: kind.SECONDS_MAX }),
      '30',
      'Seconds allowed for connecting, for writing, and for each pause between received bytes; not before the response of a chat.'
    ),
    UPSTREAM_FIRST_BYTE_TIMEOUT: add.withDefault(
      kind.decimal({ above: 0, max: kind.SECONDS_MAX }),
      '300',
      'Seconds allowed from the end of a chat request until its response begins.'
    ),
    UPSTREAM_VERIFY_SSL_CERTS: add.withDefault(kind.boolean, 'true', "Verify the upstream's certificate."),
    UPSTREAM_CA_BUNDLE_FILE: add.optional(
      kind.path,
      'Certificate authorities to trust; setting it switches verification on.'
    ),
    UPSTREAM_CERT_FILE: add.optional(kind.path, 'Client certificate.'),
    UPSTREAM_KEY_FILE: add.optional(
      kind.path,
      'Key of the client certificate, when the certificate file does not contain it.'
    ),
    UPSTREAM_KEY_FILE_PASSWORD: add.optional(kind.secret, 'Password of the key of the client certificate.', {
      secret: true
    }),
    UPSTREAM_FLAGS: add.optional(kind.textList, 'Default of the request field `flags`.'),
    UPSTREAM_MAX_CONNECTIONS: add.optional(
      kind.integer({ above: 0 }),
      'Connections of one worker to the upstream; unset means 1024.'
    ),
    UPSTREAM_MAX_RETRIES: add.withDefault(kind.integer({ min: 0 }), '0', 'Further attempts after a failed call.'),
    UPSTREAM_RETRY_BACKOFF_FACTOR: add.withDefault(
      kind.decimal({ min: 0 }),
      '0.5',
      'Seconds before the second attempt.'
    ),
    UPSTREAM_RETRY_ON_STATUS_CODES: add.withDefault(
      kind.integerList({ min: 100, max: 599 }),
      '[429,500,502,503,504]',
      'Response statuses after which a call is attempted again.'
    ),
    UPSTREAM_TOKEN_EXPIRY_BUFFER_MS: add.withDefault(
      kind.integer({ min: 0 }),
      '60000',
      'Milliseconds before its expiry at which a token is replaced.'
    )
  }
}

/** The rows of the proxies, under the names that other programs read too. */
export function proxyRows(add: SectionRows) {
  return {
    HTTP_PROXY: add.optional(
      kind.url,
      'Proxy for http addresses of the native upstream, and of profiles with proxy: environment.'
    ),
    HTTPS_PROXY: add.optional(
      kind.url,
      'Proxy for https addresses of the native upstream, and of profiles with proxy: environment.'
    ),
    NO_PROXY: add.optional(
      kind.commaList,
      'Hosts, suffixes, addresses and CIDR ranges, each with a port or without, that are reached without a proxy.'
    )
  }
}
