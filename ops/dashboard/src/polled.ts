// Asks the gateway again some seconds after each answer, while the page is visible.
import { useEffect, useState } from 'preact/hooks'
import type { Api } from './data/api.ts'
import type { Loaded } from './loaded.ts'
import { explainFailure, useSession } from './session.ts'

/**
 * The last answer, kept with the message when a later question fails.
 * @param ask the same function at each call of the hook.
 */
export function usePolled<Value>(
  ask: (api: Api, signal: AbortSignal) => Promise<Value>,
  pauseMs: number
): Loaded<Value> {
  const session = useSession()
  const [state, setState] = useState<Loaded<Value>>({})
  useEffect(() => {
    const closing = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    async function load(): Promise<void> {
      try {
        if (!document.hidden) setState({ value: await ask(session.api, closing.signal) })
      } catch (error) {
        if (closing.signal.aborted) return
        const message = explainFailure(error, session)
        setState(({ value }) => (value === undefined ? { message } : { value, message }))
      }
      if (!closing.signal.aborted) timer = setTimeout(load, pauseMs)
    }
    void load()
    return () => {
      closing.abort()
      clearTimeout(timer)
    }
  }, [session, ask, pauseMs])
  return state
}
