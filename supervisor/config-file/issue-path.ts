// Places in a configuration file.

/** Names of the schema and indices of lists. */
export type IssuePath = ReadonlyArray<string | number>

/** The place of a member for a person, such as `profiles[0].models[2].public_alias`. */
export function writeIssuePath(path: IssuePath): string {
  if (path.length === 0) return 'the top level'
  const text = path.map(part => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('')
  return text.startsWith('.') ? text.slice(1) : text
}
