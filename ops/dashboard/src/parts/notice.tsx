// A sentence for the reader: read out when it appears.
import type { ComponentChildren } from 'preact'

export interface NoticeProps {
  readonly kind: 'error' | 'info'
  readonly children: ComponentChildren
}

export function Notice({ kind, children }: NoticeProps) {
  return (
    <p class={`notice ${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      {children}
    </p>
  )
}
