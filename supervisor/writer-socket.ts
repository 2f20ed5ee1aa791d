// The socket of the writer: in a directory of its own that only this user can enter.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface WriterSocket {
  readonly path: string
  /** Removes the directory. */
  remove(): void
}

/** Longer paths are no addresses of sockets; the rest of it is `llm-gateway-XXXXXX/writer.sock`. */
const FOLDER_LENGTH_MAX = 70

/** Makes the directory, or names a pipe where the system has no sockets in files. Throws the system's error. */
export function createWriterSocket(platform: NodeJS.Platform): WriterSocket {
  if (platform === 'win32') {
    return { path: `\\\\.\\pipe\\llm-gateway-${randomBytes(16).toString('hex')}`, remove: () => undefined }
  }
  const folder = Buffer.byteLength(tmpdir()) > FOLDER_LENGTH_MAX ? '/tmp' : tmpdir()
  // The system creates it with mode 0700.
  const directory = mkdtempSync(join(folder, 'llm-gateway-'))
  return { path: join(directory, 'writer.sock'), remove: () => rmSync(directory, { recursive: true, force: true }) }
}
