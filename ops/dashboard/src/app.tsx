// The page: entry of the key, navigation and the view. The view is part of the address; the key is a variable of this page and nothing else.
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { createApi } from './data/api.ts'
import { type Session, SessionContext } from './session.ts'
import { applyTheme, THEMES, type Theme, ThemeContext, watchSystemTheme } from './theme.ts'
import { Conversations } from './views/conversations.tsx'
import { Health } from './views/health.tsx'
import { Keys } from './views/keys.tsx'
import { Live } from './views/live.tsx'
import { Login } from './views/login.tsx'
import { Overview } from './views/overview.tsx'
import { Providers } from './views/providers.tsx'
import { Records } from './views/records.tsx'
import { Running } from './views/running.tsx'
import { Spend } from './views/spend.tsx'

const VIEWS = [
  { name: 'live', title: 'Live', View: Live },
  { name: 'running', title: 'Running', View: Running },
  { name: 'records', title: 'Records', View: Records },
  { name: 'overview', title: 'Overview', View: Overview },
  { name: 'keys', title: 'Keys', View: Keys },
  { name: 'spend', title: 'Spend', View: Spend },
  { name: 'providers', title: 'Providers', View: Providers },
  { name: 'conversations', title: 'Conversations', View: Conversations },
  { name: 'sinks', title: 'Sinks', View: Health }
] as const

export function App() {
  const [key, setKey] = useState<string>()
  const [message, setMessage] = useState<string>()
  const { theme, setTheme, colors } = useTheme()
  const { view, address } = useView()
  const end = useCallback((reason?: string) => {
    setKey(undefined)
    setMessage(reason)
  }, [])
  const session = useMemo(
    () => (key === undefined ? undefined : { api: createApi({ key, base: document.baseURI }), end }),
    [key, end]
  )
  const hasThreads = useHasThreads(session)
  const { View } = view
  return (
    <>
      <header class="bar">
        <h1>Gateway traffic</h1>
        {session !== undefined && (
          <nav aria-label="Views">
            {VIEWS.filter(({ name }) => name !== 'conversations' || hasThreads).map(({ name, title }) => (
              <a key={name} href={`#${name}`} aria-current={name === view.name ? 'page' : undefined}>
                {title}
              </a>
            ))}
          </nav>
        )}
        <div class="bar-end">
          <label class="inline">
            <span>Colors</span>
            <select value={theme} onChange={event => setTheme(event.currentTarget.value as Theme)}>
              {THEMES.map(name => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          {session !== undefined && (
            <button type="button" onClick={() => end()}>
              Lock
            </button>
          )}
        </div>
      </header>
      <main>
        {session === undefined ? (
          <Login message={message} onKey={setKey} />
        ) : (
          <SessionContext.Provider value={session}>
            <ThemeContext.Provider value={colors}>
              <View key={address} />
            </ThemeContext.Provider>
          </SessionContext.Provider>
        )}
      </main>
    </>
  )
}

function useTheme() {
  const [theme, setTheme] = useState<Theme>('system')
  const [isSystemDark, setSystemDark] = useState(false)
  useEffect(() => watchSystemTheme(setSystemDark), [])
  // Before anything reads a color.
  applyTheme(theme)
  return { theme, setTheme, colors: `${theme} ${isSystemDark}` }
}

function useView() {
  const [address, setAddress] = useState(location.hash.slice(1))
  useEffect(() => {
    const read = () => setAddress(location.hash.slice(1))
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  const [name] = address.split('?')
  return { view: VIEWS.find(view => view.name === name) ?? VIEWS[0], address }
}

/** Whether the gateway stores responses; without it there is nothing to show. */
function useHasThreads(session: Session | undefined): boolean {
  const [hasThreads, setHasThreads] = useState(false)
  useEffect(() => {
    setHasThreads(false)
    if (session === undefined) return
    const closing = new AbortController()
    session.api.health(closing.signal).then(
      ({ responses_stored }) => setHasThreads(responses_stored),
      // The views say what fails.
      () => undefined
    )
    return () => closing.abort()
  }, [session])
  return hasThreads
}
