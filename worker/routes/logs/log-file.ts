// Opens the log for reading, and names the errors of the system.
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { GatewayError } from '../../normalized/index.ts'

/** Opens a regular file. Rejects with the system's error, or with one of its own for a device, a pipe or a folder. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  // The log may be a pipe such as /dev/stdout: opening it must not wait, and reading it would take lines from its reader.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const status = await file.stat()
  if (status.isFile()) return file
  await file.close()
  throw new Error('The log is no regular file.')
}

/** Whether the system's error says that the file does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

/** `log_file_not_found` or `log_file_unreadable`. */
export function toLogError(error: unknown): GatewayError {
  return new GatewayError(isMissing(error) ? 'log_file_not_found' : 'log_file_unreadable', { cause: error })
}
