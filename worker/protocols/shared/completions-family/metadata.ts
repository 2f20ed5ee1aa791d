// The metadata of a response, as the SDK declares it: a map of short strings (completions.md 6.1, responses.md 4).

/** A longer value is left out instead of cut, because it may be JSON text. */
const VALUE_CHARACTERS_MAX = 512

/** Selects the members that the SDK's type allows: strings of a bounded length. */
export function selectMetadata(metadata: Readonly<Record<string, unknown>>): Record<string, string> {
  const shown: Record<string, string> = {}
  for (const [name, value] of Object.entries(metadata)) {
    if (typeof value === 'string' && value.length <= VALUE_CHARACTERS_MAX) shown[name] = value
  }
  return shown
}
