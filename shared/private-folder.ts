// The folder of the sockets between the processes of a gateway: only its user may enter it. What cleans temporary folders may remove it,
// and then its name is free for every user of the host.
import { lstatSync, mkdirSync } from 'node:fs'
import { createConnection, Socket } from 'node:net'
import { dirname } from 'node:path'

const PRIVATE_MODE = 0o700
const OTHERS = 0o077

/** Makes the folder of a socket where it is gone. Throws the system's error, and one for a folder that is not this user's alone. */
export function ensurePrivateFolder(socketPath: string): void {
  if (process.platform === 'win32') return
  const folder = dirname(socketPath)
  try {
    mkdirSync(folder, { mode: PRIVATE_MODE })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  if (!isPrivate(folder)) throw new Error('The folder of the socket belongs to another user, or lets others in.')
}

/** Connects to a socket in a private folder; in a folder of another kind the connection ends with an error. */
export function connectPrivately(socketPath: string): Socket {
  if (process.platform === 'win32' || mayBePrivate(dirname(socketPath))) return createConnection(socketPath)
  const refused = new Socket()
  process.nextTick(() => refused.destroy(new Error('The folder of the socket is not private.')))
  return refused
}

/** Where there is no folder, connecting fails by itself. */
function mayBePrivate(folder: string): boolean {
  try {
    return isPrivate(folder)
  } catch {
    return true
  }
}

function isPrivate(folder: string): boolean {
  const status = lstatSync(folder)
  return status.isDirectory() && status.uid === process.getuid?.() && (status.mode & OTHERS) === 0
}
