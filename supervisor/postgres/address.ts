// The address of a Postgres server as libpq reads it (decisions.md 115): what `sslmode` asks for, and what each mode verifies.
import pg from 'pg'

const MODES = new Set(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'])
/** Encrypt where the server can, and go on without where it cannot. */
const OPTIONAL_MODES = new Set(['allow', 'prefer'])

export interface PostgresAddress {
  /** For the driver, which reads the modes as libpq does only where it is told to. */
  readonly connectionString: string
  /** Also without encryption, where the server has none. */
  readonly mayBePlain: boolean
}

/** What is wrong with a DSN. The message is for the operator: it has no part of the DSN. */
export class PostgresAddressError extends Error {}

/** What an operator reads of an error of an address, behind a sentence that names the setting; empty for errors that may quote the DSN. */
export function explainAddressError(error: unknown): string {
  return error instanceof PostgresAddressError ? `: ${error.message}` : ''
}

/** Reads a DSN. Raises `PostgresAddressError` for a mode that libpq does not know, and for one that lacks its certificates. */
export function readAddress(dsn: string): PostgresAddress {
  const [place = '', ...queries] = dsn.split('?')
  const query = new URLSearchParams(queries.join('?'))
  const mode = query.get('sslmode')
  if (mode === null) return { connectionString: dsn, mayBePlain: false }
  if (!MODES.has(mode)) throw new PostgresAddressError(`sslmode must be one of ${[...MODES].join(', ')}`)
  query.set('uselibpqcompat', 'true')
  if (mode === 'verify-ca' && !query.has('sslrootcert')) {
    throw new PostgresAddressError('sslmode=verify-ca needs sslrootcert, the file of the authority')
  }
  const mayBePlain = OPTIONAL_MODES.has(mode)
  if (mayBePlain) query.set('sslmode', 'prefer')
  if (query.get('sslrootcert') === 'system') {
    // libpq: the authorities of the system are too many to take any of their certificates for any name.
    if (mode !== 'verify-full') throw new PostgresAddressError('sslrootcert=system needs sslmode=verify-full')
    query.delete('sslrootcert')
  }
  return { connectionString: `${place}?${query}`, mayBePlain }
}

/** The parts of the driver's connection that negotiate the encryption. */
interface NegotiatingConnection {
  readonly stream: NodeJS.EventEmitter
  connect(port: number, host: string): void
  attachListeners(stream: NodeJS.EventEmitter): void
  emit(event: 'sslconnect'): boolean
}

/** A client that goes on without encryption where the server answers that it has none, as libpq does with `prefer`. */
export class PreferringClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config)
    preferEncryption((this as unknown as { readonly connection: NegotiatingConnection }).connection)
  }
}

const REFUSED = 'N'

function preferEncryption(connection: NegotiatingConnection): void {
  const connect = connection.connect.bind(connection)
  connection.connect = (port, host) => {
    connect(port, host)
    const { stream } = connection
    const [readAnswer] = stream.listeners('data')
    stream.removeAllListeners('data')
    stream.once('data', (answer: Buffer) => {
      if (answer.toString('latin1') !== REFUSED) return void readAnswer?.(answer)
      connection.attachListeners(stream)
      connection.emit('sslconnect')
    })
  }
}
