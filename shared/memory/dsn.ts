// The DSN and the keys of the store of responses (memory.md 1).

/** A path or an address, without what says its kind. */
export interface StoreDsn {
  readonly kind: 'sqlite' | 'postgres'
  readonly location: string
}

const POSTGRES = /^postgres(ql)?:\/\//i
const SQLITE = /^sqlite:(\/\/(?=\/))?/i

/** `sqlite:<path>`, which may begin with `sqlite:///`, or an address of Postgres; undefined for anything else. */
export function readStoreDsn(dsn: string): StoreDsn | undefined {
  if (POSTGRES.test(dsn)) return URL.canParse(dsn) ? { kind: 'postgres', location: dsn } : undefined
  const path = SQLITE.test(dsn) ? dsn.replace(SQLITE, '') : ''
  // A store in memory would forget every response with its process.
  return path === '' || path.startsWith(':memory:') ? undefined : { kind: 'sqlite', location: path }
}

/** What must not be in a log beside the DSN itself: drivers name the password alone. */
export function readDsnPassword(dsn: string): string | undefined {
  if (!POSTGRES.test(dsn) || !URL.canParse(dsn)) return undefined
  const { password } = new URL(dsn)
  if (password === '') return undefined
  try {
    return decodeURIComponent(password)
  } catch {
    return password
  }
}

const KEY_BYTES = 32
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** The 32 bytes of a key in base64 or base64url; undefined for anything else. */
export function readStoreKey(text: string): Buffer | undefined {
  const trimmed = text.trim()
  if (!BASE64.test(trimmed)) return undefined
  const key = Buffer.from(trimmed, 'base64')
  return key.length === KEY_BYTES ? key : undefined
}
