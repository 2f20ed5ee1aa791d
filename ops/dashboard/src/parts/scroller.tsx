// A part of the page that scrolls by itself. It can be focused, because the arrow keys scroll what has the focus.
import type { ComponentChildren, Ref } from 'preact'

export interface ScrollerProps {
  readonly label: string
  readonly class: string
  readonly isBusy?: boolean
  readonly element?: Ref<HTMLElement>
  readonly onScroll?: () => void
  readonly children: ComponentChildren
}

export function Scroller({ label, class: name, isBusy = false, element = null, onScroll, children }: ScrollerProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class={name} tabIndex={0} aria-label={label} aria-busy={isBusy} ref={element} onScroll={onScroll}>
      {children}
    </section>
  )
}
