// The notice of the client's fields that a route leaves out (decisions.md 70): names for the response header and the record, and log lines.

import type { Logger } from '../../shared/logging.ts'
import type { RequestContext } from '../http/request-context.ts'
import { HIDDEN_NAME, type IsMember, showFields } from '../protocols/shared/members/shown-fields.ts'

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
