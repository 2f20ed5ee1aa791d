// The address of a view: its name and its state, such as `records?range=1h&key=ci`, so that a view can be kept and passed on. The admin key
// is never part of it.

/** State of a view by name; empty values are left out of the address. */
export type Params = Readonly<Record<string, string>>

export interface Address {
  /** Empty where the address names none. */
  readonly view: string
  readonly params: Params
}

/** Reads the part of the page's address behind `#`. */
export function readAddress(hash: string): Address {
  const [view = '', ...rest] = hash.replace(/^#/, '').split('?')
  return { view, params: Object.fromEntries(new URLSearchParams(rest.join('?'))) }
}

/** The address of a view, as a link has it. */
export function writeAddress(view: string, params: Readonly<Record<string, string | undefined>> = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) if (value !== undefined && value !== '') query.set(name, value)
  const text = query.toString()
  return text === '' ? `#${view}` : `#${view}?${text}`
}

/** What goes along when the reader goes to another view: the range of time, or the given one where the address names none. */
export function keepRange({ range, from, to }: Params, fallback?: string): Params {
  if (range === undefined && from === undefined) return fallback === undefined ? {} : { range: fallback }
  return Object.fromEntries(
    Object.entries({ range, from, to }).filter((entry): entry is [string, string] => entry[1] !== undefined)
  )
}
