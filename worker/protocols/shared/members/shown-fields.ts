// The names of fields that a route leaves out, as headers, records and explanations show them (decisions.md 70).

/** Shows whether a path is one of the client's protocol. A client may write any other name. */
export type IsMember = (path: string) => boolean

/** Names of the protocol are shown as they are; those of its paths hold nothing else than these characters. */
const SHOWN_PATH = /^[A-Za-z0-9_.[\]-]+$/
/** Longest name of a member that the protocol does not have. */
const FOREIGN_CHARACTERS_MAX = 64
/** Stands for a name that may hold anything. */
export const HIDDEN_NAME = '?'

/** The fields under names that are safe in headers and logs, each once. */
export function showFields(paths: readonly string[], isMember: IsMember): readonly string[] {
  const shown = paths.map(path => {
    const isShown = SHOWN_PATH.test(path) && (path.length <= FOREIGN_CHARACTERS_MAX || isMember(path))
    return isShown ? path : HIDDEN_NAME
  })
  return [...new Set(shown)]
}
