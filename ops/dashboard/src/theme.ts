// The color scheme: that of the system, or the one that the reader chose for as long as the page is open.
import { createContext } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** Changes whenever colors change: charts draw on canvas and have to do it again. */
export const ThemeContext = createContext('system')

/** The choice, and what changes with the colors. */
export function useTheme() {
  const [theme, setTheme] = useState<Theme>('system')
  const [isSystemDark, setSystemDark] = useState(false)
  useEffect(() => watchSystemTheme(setSystemDark), [])
  // Before anything reads a color.
  applyTheme(theme)
  return { theme, setTheme, colors: `${theme} ${isSystemDark}` }
}

/** Applies the choice to the document. */
function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme
}

/** Calls back when the system changes its scheme, until the returned function is called. */
function watchSystemTheme(onChange: (isDark: boolean) => void): () => void {
  const query = matchMedia('(prefers-color-scheme: dark)')
  const report = () => onChange(query.matches)
  report()
  query.addEventListener('change', report)
  return () => query.removeEventListener('change', report)
}
