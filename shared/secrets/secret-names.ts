// Which names are those of secrets: members of JSON, headers, parameters of URLs and variables (operations.md 8.2).

/** Names whose values are never shown. Hyphen and underscore are equivalent, and so is a capital letter within a word (`apiKey`). */
const SECRET_NAMES = [
  'access_token',
  'admin_api_key',
  'api_key',
  'authorization',
  'client_secret',
  'credentials',
  'id_token',
  'key_file_password',
  'opensearch_password',
  'passphrase',
  'passwd',
  'password',
  'pgpassword',
  'private_key',
  'refresh_token',
  'secret',
  'secret_key',
  'session_token',
  'token',
  'trace_api_key',
  'x_admin_api_key',
  'x_api_key',
  'x_goog_api_key'
]

/** Masked only as member names: as words they are too common in ordinary text. */
const MEMBER_NAMES = ['cookie', 'set_cookie']

/** Words that end the name of a secret: `db_password`, `GITHUB_TOKEN`, `webhookSecret`. */
const SECRET_ENDS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'credentials',
  'key',
  'passphrase',
  'passwd',
  'password',
  'pwd',
  'secret',
  'token'
])

/** Words before `key` and `token` in names that every protocol and every model vocabulary has: their values are no secrets. */
const HARMLESS_BEFORE: Readonly<Record<string, ReadonlySet<string>>> = {
  key: new Set([
    'cache',
    'column',
    'dedup',
    'foreign',
    'group',
    'hot',
    'idempotency',
    'index',
    'map',
    'object',
    'order',
    'partition',
    'primary',
    'public',
    'row',
    'sort',
    'unique'
  ]),
  token: new Set([
    'bos',
    'cls',
    'continuation',
    'cursor',
    'end',
    'eos',
    'eot',
    'first',
    'image',
    'last',
    'mask',
    'max',
    'next',
    'pad',
    'page',
    'per',
    'sep',
    'special',
    'start',
    'stop',
    'unk'
  ])
}

/** What a name says of its value. A value of a name that only ends like a secret's is none where it is a number or a truth. */
export type NameKind = 'secret' | 'secret-text' | 'plain'

export interface SecretNames {
  /** As the name of a member or header. */
  classify(name: string): NameKind
  /** As a word before `=` or `:` in a text. */
  isInText(name: string): boolean
}

export function createSecretNames(extraNames: readonly string[]): SecretNames {
  const inText = new Set([...SECRET_NAMES, ...extraNames].map(foldName))
  const inMembers = new Set([...inText, ...MEMBER_NAMES])
  const joined = new Set([...inText].map(joinWords))

  function isListed(name: string, names: ReadonlySet<string>): boolean {
    return (
      names.has(foldName(name)) || names.has(foldName(separateWords(name))) || joined.has(joinWords(foldName(name)))
    )
  }

  return {
    classify(name) {
      if (isListed(name, inMembers)) return 'secret'
      return endsLikeSecret(name) ? 'secret-text' : 'plain'
    },
    isInText: name => isListed(name, inText) || endsLikeSecret(name)
  }
}

/** The longest name that is looked at; longer ones are data. */
const NAME_CHARACTERS_MAX = 256

function endsLikeSecret(name: string): boolean {
  if (name.length > NAME_CHARACTERS_MAX) return false
  const words = separateWords(name.trim())
    .toLowerCase()
    .split(/[-_.]+/)
  const last = words.pop() ?? ''
  const before = words.pop()
  if (!SECRET_ENDS.has(last) || before === undefined) return false
  return HARMLESS_BEFORE[last]?.has(before) !== true
}

/** `apiKey` as `api_Key`, and `APIKey` as `API_Key`. */
function separateWords(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
}

function foldName(name: string): string {
  return name.trim().toLowerCase().replaceAll('-', '_')
}

function joinWords(name: string): string {
  return name.replaceAll('_', '')
}
