// Entry of the admin key. The field is emptied as soon as the key was taken.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, createApi } from '../data/api.ts'
import { Notice } from '../parts/notice.tsx'

export interface LoginProps {
  /** Why the last session ended. */
  readonly message: string | undefined
  /** @param isRemembered as long as the browser's tab is open. */
  readonly onKey: (key: string, isRemembered: boolean) => void
}

export function Login({ message, onKey }: LoginProps) {
  const input = useRef<HTMLInputElement>(null)
  const [failure, setFailure] = useState(message)
  const [isChecking, setChecking] = useState(false)
  const [isRemembered, setRemembered] = useState(false)

  useEffect(() => input.current?.focus(), [])

  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    const key = input.current?.value.trim() ?? ''
    if (key === '' || isChecking) return
    setChecking(true)
    setFailure(undefined)
    try {
      await createApi({ key, base: document.baseURI }).checkKey()
      onKey(key, isRemembered)
    } catch (error) {
      // A header cannot hold every character, and then the browser refuses to send it.
      setFailure(error instanceof ApiError ? error.message : 'The admin key is wrong.')
      setChecking(false)
      input.current?.select()
    }
  }

  return (
    <form class="card login" onSubmit={submit} autocomplete="off">
      <label for="key">Admin key</label>
      <input id="key" ref={input} type="password" autocomplete="off" spellcheck={false} required />
      <label class="inline remember">
        <input type="checkbox" checked={isRemembered} onChange={event => setRemembered(event.currentTarget.checked)} />
        <span>Remember it until this tab is closed</span>
      </label>
      <button type="submit" class="primary" disabled={isChecking}>
        {isChecking ? 'Checking…' : 'Open'}
      </button>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      <p class="hint">
        The value of GATEWAY_ADMIN_API_KEY. Unless it is remembered, it stays in this page's memory and is forgotten
        when the page is reloaded, closed or locked.
      </p>
    </form>
  )
}
