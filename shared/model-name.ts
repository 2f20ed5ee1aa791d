// Which ids of a provider's list can be public names.

/** The longest text of a machine document, prefix included, is 512 characters. */
const CHARACTERS_MAX = 256

const CONTROLS = /[\p{C}\p{Zl}\p{Zp}]/u

/**
 * Whether an id can be listed and asked for: no control or invisible character, no blank at its ends, and no longer than an alias. A blank
 * inside is allowed, because ids of local servers are names of files.
 */
export function isModelName(id: string): boolean {
  return id !== '' && id.length <= CHARACTERS_MAX && id === id.trim() && !CONTROLS.test(id)
}
