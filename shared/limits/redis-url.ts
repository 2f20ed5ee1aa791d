// The address of a Redis or Valkey server (keys.md 3).

/** What `redis://` and `rediss://` addresses name. */
export interface RedisAddress {
  readonly isTls: boolean
  readonly host: string
  readonly port: number
  readonly database: number
  /** Absent: the server's `default` user. */
  readonly user: string | undefined
  readonly password: string | undefined
}

const DEFAULT_PORT = 6379
/** `/`, `/0`, `/15`. */
const DATABASE = /^(?:\/([0-9]{1,5})?)?$/

/** `redis[s]://[[user]:password@]host[:port][/database]`; undefined for anything else. */
export function readRedisUrl(text: string): RedisAddress | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') return undefined
  const database = DATABASE.exec(url.pathname)
  if (database === null || url.hostname === '' || url.search !== '' || url.hash !== '') return undefined
  const user = decode(url.username)
  const password = decode(url.password)
  if (user === undefined || password === undefined) return undefined
  return {
    isTls: url.protocol === 'rediss:',
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    database: Number(database[1] ?? 0),
    user: user === '' ? undefined : user,
    password: password === '' ? undefined : password
  }
}

/** Undefined for a text with a percent sign that begins no escape. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
