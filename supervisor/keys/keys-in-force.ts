// The keys of the keys file that hold now (keys.md 1).
import type { KeySet } from '../../shared/keys/key-set.ts'

/** Where parts of the supervisor get the keys. */
export interface KeysSource {
  /** Undefined without a keys file. */
  current(): KeySet | undefined
  /** Calls the listener with each set that replaces the current one. */
  onChanged(listener: (keys: KeySet) => void): void
}

export interface KeysInForce extends KeysSource {
  /** All listeners are called before it returns, so that no part works with an older set than another. */
  replace(keys: KeySet): void
}

/** Holds the keys of the start until others replace them. */
export function createKeysInForce(initial: KeySet | undefined): KeysInForce {
  const listeners: Array<(keys: KeySet) => void> = []
  let current = initial
  return {
    current: () => current,
    onChanged(listener) {
      listeners.push(listener)
    },
    replace(keys) {
      current = keys
      for (const listener of listeners) listener(keys)
    }
  }
}
