// Opens the log for reading, and names the errors of the system.
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Logger } from '../../../shared/logging.ts'
import { GatewayError } from '../../normalized/index.ts'

/** Opens a regular file. Rejects with the system's error, or with one of its own for a device, a pipe or a folder. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  // The log may be a pipe such as /dev/stdout: opening it must not wait, and reading it would take lines from its reader.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const status = await file.stat()
    if (!status.isFile()) throw new Error('The log is no regular file.')
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Whether the system's error says that the file does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

/** Warns of a log that exists but cannot be read: the response says no more than that. */
export function reportUnreadable(log: Logger, error: unknown): void {
  if (!isMissing(error)) log.warn({ event: 'log_file_unreadable', err: error }, 'The log file cannot be read')
}

/** `log_file_not_found` or `log_file_unreadable`. */
export function toLogError(error: unknown): GatewayError {
  return new GatewayError(isMissing(error) ? 'log_file_not_found' : 'log_file_unreadable', { cause: error })
}
