// The admin key in the storage of the browser's tab, only where the reader asked for it. The browser forgets it with the tab.
const NAME = 'gateway-admin-key'

/** Undefined where none is remembered, and where the browser allows no storage. */
export function readRememberedKey(): string | undefined {
  try {
    return sessionStorage.getItem(NAME) ?? undefined
  } catch {
    return undefined
  }
}

/** Remembers a key; undefined forgets it. */
export function rememberKey(key: string | undefined): void {
  try {
    if (key === undefined) sessionStorage.removeItem(NAME)
    else sessionStorage.setItem(NAME, key)
  } catch {
    // Without storage the key is only kept in memory.
  }
}
