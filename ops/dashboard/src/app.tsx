// The page: entry of the key, navigation and the view. The view and its state are the address; the key is a variable of this page, and in the
// storage of the tab only where the reader asked for it.
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { createNavigation, NavigationContext, useAddress } from './address.ts'
import { keepRange, writeAddress } from './data/address.ts'
import { createApi } from './data/api.ts'
import { readRememberedKey, rememberKey } from './data/remembered-key.ts'
import { type Session, SessionContext } from './session.ts'
import { StateContext, useWatchedState } from './state.ts'
import { THEMES, type Theme, ThemeContext, useTheme } from './theme.ts'
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
  { name: 'overview', title: 'Overview', View: Overview },
  { name: 'live', title: 'Live', View: Live },
  { name: 'running', title: 'Running', View: Running },
  { name: 'records', title: 'Records', View: Records },
  { name: 'providers', title: 'Providers', View: Providers },
  { name: 'keys', title: 'Keys', View: Keys },
  { name: 'spend', title: 'Spend', View: Spend },
  { name: 'conversations', title: 'Conversations', View: Conversations },
  { name: 'sinks', title: 'Sinks', View: Health }
] as const

export function App() {
  const [key, setKey] = useState(readRememberedKey)
  const [message, setMessage] = useState<string>()
  const { theme, setTheme, colors } = useTheme()
  const end = useCallback((reason?: string) => {
    rememberKey(undefined)
    setKey(undefined)
    setMessage(reason)
  }, [])
  const session = useMemo<Session | undefined>(
    () => (key === undefined ? undefined : { api: createApi({ key, base: document.baseURI }), end }),
    [key, end]
  )
  const colorChoice = (
    <label class="inline">
      <span class="colors-word">Colors</span>
      <select aria-label="Colors" value={theme} onChange={event => setTheme(event.currentTarget.value as Theme)}>
        {THEMES.map(name => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  )
  if (session === undefined) {
    return (
      <>
        <header class="bar">
          <h1>LLM Gateway</h1>
          <div class="bar-end">{colorChoice}</div>
        </header>
        <main>
          <Login
            message={message}
            onKey={(entered, isRemembered) => {
              if (isRemembered) rememberKey(entered)
              setKey(entered)
            }}
          />
        </main>
      </>
    )
  }
  return (
    <SessionContext.Provider value={session}>
      <ThemeContext.Provider value={colors}>
        <Shell onLock={() => end()}>{colorChoice}</Shell>
      </ThemeContext.Provider>
    </SessionContext.Provider>
  )
}

function Shell({ onLock, children }: { onLock: () => void; children: preact.ComponentChildren }) {
  const address = useAddress()
  const { name, title, View } = VIEWS.find(view => view.name === address.view) ?? VIEWS[0]
  const navigation = useMemo(() => createNavigation(name, address.params), [name, address])
  const state = useWatchedState()
  const { problems = [], health } = state.value ?? {}
  const kept = keepRange(address.params)
  // Tabs of several views, and of gateways with a problem, are told apart.
  useEffect(() => {
    document.title = `${problems.length > 0 ? `(${problems.length}) ` : ''}${title} · LLM Gateway`
  }, [title, problems.length])
  const links = useRef<HTMLElement>(null)
  // A narrow screen shows some of the links.
  useEffect(
    () => links.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' }),
    [name]
  )
  return (
    <NavigationContext.Provider value={navigation}>
      <StateContext.Provider value={state}>
        <header class="bar">
          <h1>LLM Gateway</h1>
          <nav aria-label="Views" ref={links}>
            {VIEWS.filter(view => view.name !== 'conversations' || health?.responses_stored === true).map(view => (
              <a
                key={view.name}
                href={writeAddress(view.name, kept)}
                aria-current={view.name === name ? 'page' : undefined}
              >
                {view.title}
                {view.name === 'overview' && problems.length > 0 && <ProblemMark />}
              </a>
            ))}
          </nav>
          <div class="bar-end">
            {children}
            <button type="button" onClick={onLock}>
              Lock
            </button>
          </div>
        </header>
        <main>
          <View key={name} />
        </main>
      </StateContext.Provider>
    </NavigationContext.Provider>
  )
}

/** How many things need attention, seen from every view. */
function ProblemMark() {
  const problems = useContext(StateContext)?.value?.problems ?? []
  const level = problems.some(problem => problem.level === 'bad') ? 'bad' : 'warn'
  return (
    <span class={`mark ${level}`} title={problems.map(({ title }) => title).join('\n')}>
      {problems.length}
      <span class="hidden-text"> need attention</span>
    </span>
  )
}
