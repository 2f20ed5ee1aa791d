// The notice of the client's fields that a route leaves out (decisions.md 70): names for the response header and the record, and log lines.

import type { Logger } from '../../shared/logging.ts'
import type { RequestContext } from '../http/request-context.ts'

/** Shows whether a path is one of the client's protocol. A client may write any other name. */
export type IsMember = (path: string) => boolean

/** Names of the protocol are shown as they are; those of its paths hold nothing else than these characters. */
const SHOWN_PATH = /^[A-Za-z0-9_.[\]-]+$/
/** Longest name of a member that the protocol does not have. */
const FOREIGN_CHARACTERS_MAX = 64
/** Stands for a name that may hold anything. */
const HIDDEN_NAME = '?'

/** The fields under names that are safe in headers and logs, each once. */
export function showFields(paths: readonly string[], isMember: IsMember): readonly string[] {
  const shown = paths.map(path => {
    const isShown = SHOWN_PATH.test(path) && (path.length <= FOREIGN_CHARACTERS_MAX || isMember(path))
    return isShown ? path : HIDDEN_NAME
  })
  return [...new Set(shown)]
}

export interface Notices {
  /** Tells the client, the record and the log which fields a route leaves out. Call it before the response begins. */
  note(context: RequestContext, alias: string, paths: readonly string[]): void
}

/** Most lines that one worker writes: paths of lists are counted once, and other names of a model share one line. */
const LINES_MAX = 2000

/** Creates the notices of one client protocol in this worker. */
export function createNotices(log: Logger, isMember: IsMember): Notices {
  const written = new Set<string>()

  function logOnce(context: RequestContext, alias: string, path: string): void {
    const field = isMember(path) ? path.replaceAll(/\[\d+\]/g, '[]') : HIDDEN_NAME
    const key = `${alias}\n${field}`
    if (written.has(key) || written.size >= LINES_MAX) return
    written.add(key)
    const fields = { event: 'field_left_out', ...context.logIds, alias, field }
    log.info(fields, 'Requests ask for something that the route of the model leaves out')
  }

  return {
    note(context, alias, paths) {
      if (paths.length === 0) return
      context.leaveOut(showFields(paths, isMember))
      for (const path of paths) logOnce(context, alias, path)
    }
  }
}
