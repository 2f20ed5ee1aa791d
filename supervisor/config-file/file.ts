// Reads a configuration file: its bytes, its encoding and its format, bounded in size (bridge.md 3).
import { closeSync, openSync, readSync, type Stats, statSync } from 'node:fs'
import { extname } from 'node:path'
import { UnreadableFile } from './unreadable-file.ts'

const FILE_BYTES_MAX = 1_048_576

export interface ConfigFile {
  readonly text: string
  readonly format: 'json' | 'yaml'
}

/** Returns the text of a configuration file. Throws `UnreadableFile`. */
export function readFileText(path: string): ConfigFile {
  const text = decode(readBytes(path))
  switch (extname(path).toLowerCase()) {
    case '.json':
      return { text, format: 'json' }
    case '.yaml':
    case '.yml':
      return { text, format: 'yaml' }
    default:
      throw new UnreadableFile('must use a .json, .yaml, or .yml suffix')
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
    throw new UnreadableFile('cannot be read')
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

function notReadable(): UnreadableFile {
  return new UnreadableFile('must be readable UTF-8')
}

function tooLarge(): UnreadableFile {
  return new UnreadableFile('exceeds the size limit')
}
