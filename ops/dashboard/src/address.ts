// The address of the page as state: views read it and change it, so that reloading, going back and passing it on all work.
import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import { type Address, type Params, readAddress, writeAddress } from './data/address.ts'

export type ParamChanges = Readonly<Record<string, string | undefined>>

export interface Navigation {
  readonly params: Params
  /** Changes some of the view's state; an absent value leaves the address. */
  set(changes: ParamChanges): void
  /** Leads to a view. */
  go(view: string, params?: ParamChanges): void
}

export const NavigationContext = createContext<Navigation>({ params: {}, set: () => undefined, go: () => undefined })

export function useNavigation(): Navigation {
  return useContext(NavigationContext)
}

/** The address, which changes with the browser's. */
export function useAddress(): Address {
  const [address, setAddress] = useState(() => readAddress(location.hash))
  useEffect(() => {
    const read = () => setAddress(readAddress(location.hash))
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return address
}

/** @param view the one that is shown, which the address may leave out. */
export function createNavigation(view: string, params: Params): Navigation {
  const go = (name: string, given: ParamChanges = {}) => {
    location.hash = writeAddress(name, given)
  }
  return { params, go, set: changes => go(view, { ...params, ...changes }) }
}
