// Asks the gateway a question: once, when the reader wants it again, and where it is wanted some seconds after each answer, while the page is
// visible.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Api } from './data/api.ts'
import { explainFailure, useSession } from './session.ts'

/** Without either the answer is awaited. */
export interface Loaded<Value> {
  readonly value?: Value
  /** Why a question failed; an older answer is kept beside it. */
  readonly message?: string
}

export interface Answer<Value> extends Loaded<Value> {
  readonly isLoading: boolean
  /** When the last answer came, in milliseconds since the epoch. */
  readonly atMs: number | undefined
  readonly reload: () => void
}

export interface LoadOptions {
  /** Milliseconds between an answer and the next question; absent: asked once. */
  readonly everyMs?: number | undefined
  /** The answer to another question stays until the new one is there. */
  readonly keeps?: boolean
}

/** @param ask another function for each question: it is asked when the function changes. */
export function useLoaded<Value>(
  ask: (api: Api, signal: AbortSignal) => Promise<Value>,
  { everyMs, keeps = false }: LoadOptions = {}
): Answer<Value> {
  const session = useSession()
  const [loaded, setLoaded] = useState<Loaded<Value> & { atMs?: number }>({})
  const [isLoading, setLoading] = useState(true)
  const [version, setVersion] = useState(0)
  const asked = useRef<unknown>(undefined)
  useEffect(() => {
    const closing = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    if (asked.current !== undefined && asked.current !== ask && !keeps) setLoaded({})
    asked.current = ask

    async function load(): Promise<void> {
      // A hidden page asks when it is seen again.
      if (document.hidden)
        return document.addEventListener('visibilitychange', load, { once: true, signal: closing.signal })
      setLoading(true)
      try {
        const value = await ask(session.api, closing.signal)
        if (closing.signal.aborted) return
        setLoaded({ value, atMs: Date.now() })
      } catch (error) {
        if (closing.signal.aborted) return
        const message = explainFailure(error, session)
        setLoaded(before => ({ ...before, message }))
      }
      setLoading(false)
      if (everyMs !== undefined) timer = setTimeout(load, everyMs)
    }
    void load()
    return () => {
      closing.abort()
      clearTimeout(timer)
    }
  }, [session, ask, everyMs, keeps, version])
  const reload = useCallback(() => setVersion(count => count + 1), [])
  return { ...loaded, atMs: loaded.atMs, isLoading, reload }
}
