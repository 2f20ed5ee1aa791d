// The errors of the log pages for errors of the system.
import { GatewayError } from '../../normalized/index.ts'

/** Whether the system's error says that the file does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

/** `log_file_not_found` or `log_file_unreadable`. */
export function toLogError(error: unknown): GatewayError {
  return new GatewayError(isMissing(error) ? 'log_file_not_found' : 'log_file_unreadable', { cause: error })
}
