// The names of keys and groups in a keys file (keys.md 1).

export const KEY_NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/
export const KEY_NAME_RULE = '1 to 64 of a-z, 0-9, ".", "_" and "-", with a letter or a digit first and last'

export function isKeyName(text: string): boolean {
  return KEY_NAME.test(text)
}
