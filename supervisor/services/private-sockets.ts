// The sockets of the service processes: in a directory of their own that only this user can enter.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServiceName } from '../../shared/services.ts'

export interface PrivateSockets {
  /** Where a service listens. */
  path(service: ServiceName): string
  /** Removes the directory. */
  remove(): void
}

/** Longer paths are no addresses of sockets; the rest of it is `llm-gateway-XXXXXX/writer.sock`. */
const FOLDER_LENGTH_MAX = 70

/** Makes the directory, or names pipes where the system has no sockets in files. Throws the system's error. */
export function createPrivateSockets(platform: NodeJS.Platform): PrivateSockets {
  if (platform === 'win32') {
    const secret = randomBytes(16).toString('hex')
    return { path: service => `\\\\.\\pipe\\llm-gateway-${secret}-${service}`, remove: () => undefined }
  }
  const folder = Buffer.byteLength(tmpdir()) > FOLDER_LENGTH_MAX ? '/tmp' : tmpdir()
  // The system creates it with mode 0700.
  const directory = mkdtempSync(join(folder, 'llm-gateway-'))
  return {
    path: service => join(directory, `${service}.sock`),
    remove: () => rmSync(directory, { recursive: true, force: true })
  }
}
