// The members of a profile that say how its provider is called: network, TLS, proxy, credentials,
// static parts of each request, times and bounds (providers.md 1).
import { z } from 'zod'
import { MACHINE_TEXT_MAX } from '../../shared/documents/machine-document.ts'
import { canonicalDestination } from '../../shared/net/destination.ts'
import { isHeaderValue } from '../../shared/net/header-value.ts'
import { DESTINATION_PATTERN, filePath, flag, identifier, requestText, variableName } from './schema-values.ts'

/** Longest name of a header or a parameter, in characters. */
const NAME_LENGTH_MAX = 256
/** Headers, and parameters of the query, of one profile. */
const ENTRIES_MAX = 16

/** The token grammar of RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** What belongs to a connection, to a body or to the gateway itself; every form of a cookie is state of a client. */
const OWN_HEADER =
  /^(?:host|accept-encoding|content-.*|transfer-encoding|connection|cookie2?|keep-alive|te|trailer|upgrade|expect|proxy-.*)$/i

const parameterName = z.string().max(NAME_LENGTH_MAX).regex(TOKEN)
const headerName = parameterName.refine(name => !OWN_HEADER.test(name))

const headerText = z
  .string()
  .max(NAME_LENGTH_MAX * ENTRIES_MAX)
  .refine(isHeaderValue)
const ofVariable = z.strictObject({ env: variableName })

const headers = entries(headerName, headerText).refine(hasUniqueNames)
const query = entries(parameterName, requestText)

/** A map of names to texts or variables. Libraries skip a member named `__proto__`, so it is refused before. */
function entries(name: z.ZodString, text: z.ZodString) {
  const map = z.record(name, z.union([text, ofVariable])).refine(value => Object.keys(value).length <= ENTRIES_MAX)
  return z.preprocess(value => (Object.hasOwn(Object(value), '__proto__') ? null : value), map)
}

function hasUniqueNames(headers: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(headers)
  return new Set(names.map(name => name.toLowerCase())).size === names.length
}

/** `none`, `environment`, or the origin of a proxy: its credentials stand in a variable, and it has no path. */
const proxy = z.string().transform((text, context): string => {
  if (text === 'none' || text === 'environment') return text
  const url = canonicalDestination(text)
  if (url !== undefined && url.length <= MACHINE_TEXT_MAX && url === new URL(url).origin) return url
  context.addIssue({ code: 'custom' })
  return z.NEVER
})

const canonicalUrl = z.string().transform((text, context): string => {
  const url = canonicalDestination(text)
  if (url !== undefined && url.length <= MACHINE_TEXT_MAX) return url
  context.addIssue({ code: 'custom' })
  return z.NEVER
})

const OAUTH_MEMBERS_HINT = 'Client credentials of OAuth 2: the tokens are fetched, kept and renewed by the gateway.'

const oauth2 = z.strictObject({
  token_url: canonicalUrl.meta({ pattern: DESTINATION_PATTERN, description: 'The token endpoint.' }),
  client_id_env: variableName.describe('Name of the variable that holds the id of the client.'),
  client_secret_env: variableName.describe('Name of the variable that holds the secret of the client.'),
  scope: requestText.min(1).exactOptional(),
  audience: requestText.min(1).exactOptional(),
  client_auth: z
    .enum(['basic', 'post'])
    .default('basic')
    .describe('Where id and secret stand: in the header authorization, or in the body.'),
  network_policy_ref: identifier
    .exactOptional()
    .describe('The network policy of the token endpoint. Default: that of the profile.')
})

const googleServiceAccount = z
  .strictObject({
    file: filePath.exactOptional().describe('The key file of the account, in JSON.'),
    env: variableName.exactOptional().describe('In place of the file: the variable that holds its text.'),
    scopes: z.array(requestText.min(1)).min(1).max(ENTRIES_MAX).exactOptional()
  })
  .meta({ oneOf: [{ required: ['file'] }, { required: ['env'] }] })

const awsName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/)

const FORMS = ['header', 'query', 'oauth2', 'google_service_account', 'aws_sigv4'] as const

const auth = z
  .strictObject({
    header: headerName.exactOptional().describe('The header that carries the credential.'),
    prefix: headerText.exactOptional().describe('What stands before the credential in the header, such as "Token ".'),
    query: parameterName.exactOptional().describe('The parameter of the query that carries the credential.'),
    oauth2: oauth2.exactOptional().describe(OAUTH_MEMBERS_HINT),
    google_service_account: googleServiceAccount.exactOptional(),
    aws_sigv4: z
      .strictObject({ region: awsName, service: awsName })
      .exactOptional()
      .describe('Each request is signed with the keys of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.')
  })
  .superRefine((value, context) => {
    const written = FORMS.filter(form => value[form] !== undefined)
    const { google_service_account: account } = value
    if (written.length !== 1) context.addIssue({ code: 'custom' })
    else if (value.prefix !== undefined && value.header === undefined) {
      context.addIssue({ code: 'custom', path: ['prefix'] })
    } else if (account !== undefined && (account.file === undefined) === (account.env === undefined)) {
      context.addIssue({ code: 'custom', path: ['google_service_account'] })
    }
  })
  .meta({ oneOf: FORMS.map(form => ({ required: [form] })) })

/** A day. Longer times are none: 0 says so. */
const SECONDS_MAX = 86_400

const seconds = z.number().min(0).max(SECONDS_MAX)

const timeouts = z.strictObject({
  connect_seconds: z.number().positive().max(SECONDS_MAX).exactOptional().describe('Default 10.'),
  first_byte_seconds: seconds.exactOptional().describe('Until the response begins. 0: no limit. Default 300.'),
  idle_seconds: seconds
    .exactOptional()
    .describe(
      'Silence of the provider within a response; comments and pings are no silence. 0: no limit. Default 300.'
    ),
  total_seconds: seconds.exactOptional().describe('Of a whole call. 0 (default): no limit.')
})

const RESPONSE_BYTES_MIN = 1024 ** 2
const RESPONSE_BYTES_MAX = 1024 ** 3

const limits = z.strictObject({
  response_bytes: z
    .int()
    .min(RESPONSE_BYTES_MIN)
    .max(RESPONSE_BYTES_MAX)
    .exactOptional()
    .describe('The largest response, after decompression; a stream as a sum. Default 67108864.')
})

const CONNECTIONS_MAX = 65_535
const RETRIES_MAX = 3

/** Every member is optional, and enters a revision only where it is written. */
export const callMembers = {
  allow_private: flag.exactOptional().describe('The provider is in a private network. With private-network alone.'),
  ca_file: filePath.exactOptional().describe('Certificates of authorities in PEM form. With private-ca alone.'),
  client_cert_file: filePath.exactOptional().describe('Client certificate in PEM form.'),
  client_key_file: filePath.exactOptional().describe('Its key in PEM form, without a password.'),
  proxy: proxy.exactOptional().meta({
    pattern: '^(none|environment|https?://[^?#@\\\\\\s]+)$',
    description: 'none (default), environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), or the URL of a proxy.'
  }),
  proxy_credential_env: variableName
    .exactOptional()
    .describe('Name of the variable that holds user:password for the proxy.'),
  auth: auth.exactOptional().describe("Exactly one form. Absent: the kind's own header."),
  headers: headers.exactOptional().describe('Headers of every call: a text, or {env: NAME}. At most 16.'),
  query: query.exactOptional().describe('Parameters of every call: a text, or {env: NAME}. At most 16.'),
  timeouts: timeouts.exactOptional(),
  limits: limits.exactOptional(),
  connections: z
    .int()
    .min(1)
    .max(CONNECTIONS_MAX)
    .exactOptional()
    .describe('Connections of one worker at once. Default 1024.'),
  retries: z
    .int()
    .min(0)
    .max(RETRIES_MAX)
    .exactOptional()
    .describe('Repeated attempts before the first byte of a response. Default 0.')
}
