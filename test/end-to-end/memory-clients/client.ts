// What the scenario of this folder asks of a client that leaves its history to the Responses API. Each file in `adapters` implements it
// for one library.

/** Where the clients find the gateway. */
export interface Place {
  /** Such as `http://127.0.0.1:8090/v1`. */
  baseUrl: string
  model: string
  /** Keeps what was sent. */
  fetch: typeof fetch
}

/** The tool of every client: the result of one call. */
export type RunWeather = (input: unknown) => object

export interface ConversationOptions {
  isStream: boolean
  run: RunWeather
}

export interface MemoryClient {
  /** Such as `ai 7`. */
  name: string
  /** A member of the requests by which the client names what the gateway has stored. */
  names: 'item_reference' | 'previous_response_id' | 'conversation' | '/conversations/'
  /** Begins a conversation. Its function sends a prompt, runs the tool as long as it is called, and returns the text of the end. */
  start(options: ConversationOptions): (prompt: string) => Promise<string>
}

export const weather = {
  name: 'weather',
  description: 'Current weather',
  schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' as const } },
    required: ['city'],
    additionalProperties: false
  }
}

/** More turns than any prompt of the scenario takes. */
export const TURNS_MAX = 5

export interface Recorder {
  fetch: typeof fetch
  /** The address and the body of every request since the last call. */
  take(): string[]
}

/** A `fetch` that keeps what it sends. */
export function createRecorder(): Recorder {
  let sent: string[] = []
  return {
    fetch(input, init) {
      const address = input instanceof Request ? input.url : String(input)
      sent.push(`${address} ${typeof init?.body === 'string' ? init.body : ''}`)
      return fetch(input, init)
    },
    take() {
      const taken = sent
      sent = []
      return taken
    }
  }
}
