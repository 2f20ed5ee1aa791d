// What the gateway has answered; before that a word that it is awaited, and why it could not be had.
import type { ComponentChildren } from 'preact'
import type { Loaded } from '../loaded.ts'
import { Notice } from './notice.tsx'

export interface LoadedViewProps<Value> {
  readonly loaded: Loaded<Value>
  readonly children: (value: Value) => ComponentChildren
}

export function LoadedView<Value>({ loaded: { value, message }, children }: LoadedViewProps<Value>) {
  return (
    <>
      {message !== undefined && <Notice kind="error">{message}</Notice>}
      {value === undefined && message === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && children(value)}
    </>
  )
}
