// Reads the profile file: its bytes, its encoding and its format, bounded in size (bridge.md 3).
import { closeSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { extname } from 'node:path'
import { StartupError } from '../../shared/startup-error.ts'

const FILE_BYTES_MAX = 1_048_576

export interface ProfileFile {
  readonly text: string
  readonly format: 'json' | 'yaml'
}

/** Returns the text of a profile file. Throws `StartupError` `invalid_profile_schema`, which names neither path nor content. */
export function readProfileFile(path: string): ProfileFile {
  const text = decode(readBytes(path))
  switch (extname(path).toLowerCase()) {
    case '.json':
      return { text, format: 'json' }
    case '.yaml':
    case '.yml':
      return { text, format: 'yaml' }
    default:
      throw refusal('Provider profile config must use a .json, .yaml, or .yml suffix.')
  }
}

function readBytes(path: string): Buffer {
  const status = readStatus(path)
  // Only regular files: the size of a pipe or a device is unknown, and opening one can block forever.
  if (!status.isFile()) throw notReadable()
  if (status.size > FILE_BYTES_MAX) throw tooLarge()
  // One byte more than allowed, because the file can have grown since its size was read.
  const buffer = Buffer.alloc(FILE_BYTES_MAX + 1)
  const length = fill(path, buffer)
  if (length > FILE_BYTES_MAX) throw tooLarge()
  return buffer.subarray(0, length)
}

function readStatus(path: string): Stats {
  try {
    return statSync(path)
  } catch {
    throw refusal('Provider profile config cannot be read.')
  }
}

/** Reads from the start of the file until the buffer is full or the file ends; returns the number of bytes. */
function fill(path: string, buffer: Buffer): number {
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch {
    throw notReadable()
  }
  try {
    let length = 0
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(descriptor, buffer, length, buffer.length - length, null)
    }
    return length
  } catch {
    throw notReadable()
  } finally {
    closeSync(descriptor)
  }
}

function decode(bytes: Buffer): string {
  try {
    // A byte order mark stays in the text: YAML allows one, JSON does not.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw notReadable()
  }
}

function notReadable(): StartupError {
  return refusal('Provider profile config must be readable UTF-8.')
}

function tooLarge(): StartupError {
  return refusal('Provider profile config exceeds the size limit.')
}

function refusal(message: string): StartupError {
  return new StartupError('invalid_profile_schema', message)
}
