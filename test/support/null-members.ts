// Lists the members of a response that are null: a service omits most members that have no value
// (decisions.md 40).

/** The names of all members with the value null, at any depth, each once and sorted. */
export function listNullMembers(...values: readonly unknown[]): string[] {
  const names = new Set<string>()
  for (const value of values) collect(value, names)
  return [...names].sort()
}

function collect(value: unknown, names: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (member === null) names.add(name)
    else collect(member, names)
  }
}
