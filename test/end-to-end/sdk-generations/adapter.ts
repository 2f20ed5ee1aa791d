// What the scenarios of this folder ask of an SDK. Each file in `adapters` implements it for all generations of one SDK.

export type Version = 'v1' | 'v2'

/** Where the adapters of one contract find the gateway. */
export interface Origin {
  /** The gateway's URL without a path. */
  url: string
  version: Version
  /** The model that every request names. */
  model: string
}

/** Computes the result of one call of the weather tool. */
export type RunWeather = (input: unknown) => object

export interface Adapter {
  /** Such as `openai 4 responses`. */
  name: string
  /** The text of a whole response. */
  ask(prompt: string): Promise<string>
  /** The pieces of a streamed text; the weather tool is declared. Raises every error that the SDK raises or yields. */
  stream(prompt: string): AsyncIterable<string>
  /** Sends results until a response has no call. Returns the text of that response. */
  loop(prompt: string, options: { isStream: boolean; run: RunWeather }): Promise<string>
  /** The parsed structured output for `answerSchema`. */
  parse(prompt: string): Promise<unknown>
  /** The status of an error, if it has the class that the SDK documents for a failed response. */
  readStatus(error: unknown): number | undefined
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

export const answerSchema = {
  type: 'object' as const,
  properties: {
    name: { type: 'string' as const },
    tags: { type: 'array' as const, items: { type: 'string' as const } }
  },
  required: ['name', 'tags'],
  additionalProperties: false
}

const TURNS_MAX = 4

/** One turn of a loop: the text, or the calls to run with a function that adds their results to the conversation. */
export interface Turn<Call> {
  text: string
  calls: readonly Call[]
}

/** Repeats `ask` and `addResult` until a turn has no call. */
export async function runLoop<Call>(steps: {
  ask: () => Promise<Turn<Call>>
  addResult: (call: Call) => void
}): Promise<string> {
  for (let count = 0; count < TURNS_MAX; count++) {
    const { text, calls } = await steps.ask()
    if (calls.length === 0) return text
    for (const call of calls) steps.addResult(call)
  }
  throw new Error('The loop does not end.')
}
