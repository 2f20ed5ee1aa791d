// What every view needs: the client with the entered key, and a way back to the entry of the key.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Api, ApiError } from './data/api.ts'

export interface Session {
  readonly api: Api
  /** Forgets the key, with a message for the entry. */
  end(message?: string): void
}

export const SessionContext = createContext<Session | undefined>(undefined)

/** The session of the entered key; views are only shown inside one. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('There is no session.')
  return session
}

/** The key was accepted before. */
const NO_LONGER = 'The gateway no longer accepts the admin key. Enter the one that is in force.'

/** The message of a failure. A refused key ends the session. */
export function explainFailure(error: unknown, session: Session): string {
  if (error instanceof ApiError) {
    if (error.kind === 'key') session.end(error.code === 'invalid_admin_key' ? NO_LONGER : error.message)
    return error.message
  }
  return 'The response could not be read.'
}
