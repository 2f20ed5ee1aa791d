// The head of a view: its title, what it is restricted to, and its controls.
import type { ComponentChildren } from 'preact'

export interface ViewHeadProps {
  /** Also the id of the heading, with `-title` behind it. */
  readonly name: string
  readonly title: string
  readonly note?: ComponentChildren
  readonly children?: ComponentChildren
}

export function ViewHead({ name, title, note, children }: ViewHeadProps) {
  return (
    <div class="view-head">
      <h2 id={`${name}-title`}>{title}</h2>
      {note !== undefined && <p class="count">{note}</p>}
      <div class="view-tools">{children}</div>
    </div>
  )
}
