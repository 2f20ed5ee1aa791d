// Asks the gateway once for each question, and again when the reader wants it.
import { useEffect, useState } from 'preact/hooks'
import type { Api } from './data/api.ts'
import { explainFailure, useSession } from './session.ts'

/** Without either the answer is awaited. */
export interface Loaded<Value> {
  readonly value?: Value
  /** Why a question failed. */
  readonly message?: string
}

/** @param ask another function for each question: it is asked when the function changes. */
export function useLoaded<Value>(
  ask: (api: Api, signal: AbortSignal) => Promise<Value>
): Loaded<Value> & { readonly reload: () => void } {
  const session = useSession()
  const [loaded, setLoaded] = useState<Loaded<Value>>({})
  const [version, setVersion] = useState(0)
  useEffect(() => {
    const closing = new AbortController()
    setLoaded({})
    ask(session.api, closing.signal).then(
      value => {
        if (!closing.signal.aborted) setLoaded({ value })
      },
      (error: unknown) => {
        if (!closing.signal.aborted) setLoaded({ message: explainFailure(error, session) })
      }
    )
    return () => closing.abort()
  }, [session, ask, version])
  return { ...loaded, reload: () => setVersion(count => count + 1) }
}
