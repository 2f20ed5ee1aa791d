// Finds out whether a path leads to stdout or stderr of this process, as `/dev/stdout` does.
import { fstatSync, lstatSync, statSync } from 'node:fs'
import { resolve } from 'node:path'

const OUTPUTS = [1, 2]

/** The folders of the system in which a descriptor has a name; the last part of such a path is a link. */
const DESCRIPTORS = /^\/(dev\/(stdout|stderr|fd\/\d+)|proc\/[^/]+\/fd\/\d+)$/

/**
 * Whether the path is a link, and the link leads to stdout or stderr. A file of its own name that stdout is directed to as well is none:
 * it can be renamed and opened again.
 */
export function isStandardStream(path: string): boolean {
  if (!DESCRIPTORS.test(resolve(path)) && !isLink(path)) return false
  return OUTPUTS.some(descriptor => leadsTo(path, descriptor))
}

/** Whether the path and the open descriptor are one file, pipe, socket or device. */
export function leadsTo(path: string, descriptor: number): boolean {
  try {
    const named = statSync(path, { bigint: true })
    const opened = fstatSync(descriptor, { bigint: true })
    return named.dev === opened.dev && named.ino === opened.ino
  } catch {
    return false
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}
