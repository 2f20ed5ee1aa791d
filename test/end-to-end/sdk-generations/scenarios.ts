// The scenarios that every SDK generation runs, on the native upstream and on an alias of another provider.

import type { Test } from 'tap'
import { catchError } from '../../support/errors.ts'
import type { Adapter, RunWeather } from './adapter.ts'

/** What differs between the providers behind a gateway. */
export interface ProviderTraits {
  /** Streams end with an empty text that has a signature, which some SDKs show. */
  endsWithEmptyText?: boolean
  /** Whether a response of the provider has several calls. */
  hasParallelCalls: boolean
  /** A directive for the form of the calls. */
  callForm?: string
  /** The client's status for a status of the provider, and whether the provider's words are shown. */
  readFailure(status: number): { status: number; isTold: boolean }
}

const statuses = [400, 401, 429, 503]
const breaks = ['[[die]]', '[[errframe]]']
const city = (name: string) => `[[tool:weather {"city":"${name}"}]]`

/** A tool that records its inputs, and the prompt's calls with the result of the last one in the text. */
async function runCalls(adapter: Adapter, options: { prompt: string; isStream: boolean }) {
  const inputs: unknown[] = []
  const run: RunWeather = input => {
    inputs.push(input)
    return { temperature: 21 }
  }
  const text = await adapter.loop(options.prompt, { isStream: options.isStream, run })
  return { inputs, text }
}

async function readStream(adapter: Adapter, prompt: string): Promise<{ pieces: string[]; error: unknown }> {
  const pieces: string[] = []
  const error = await catchError(async () => {
    for await (const piece of adapter.stream(prompt)) pieces.push(piece)
  })
  return { pieces, error }
}

export const scenarios: ReadonlyArray<
  [name: string, check: (t: Test, adapter: Adapter, traits: ProviderTraits) => Promise<void>]
> = [
  [
    'a whole response has its text',
    async (t, adapter) => {
      t.equal(await adapter.ask('[[text:Hello]]'), 'Hello')
    }
  ],
  [
    'a stream has its pieces in order',
    async (t, adapter, { endsWithEmptyText = false }) => {
      const { pieces, error } = await readStream(adapter, '[[chunks:Hel|lo]]')
      t.equal(error, undefined)
      t.strictSame(endsWithEmptyText ? pieces.filter(piece => piece !== '') : pieces, ['Hel', 'lo'])
    }
  ],
  [
    'a loop over two turns runs the tool, whole and streamed',
    async (t, adapter, { callForm = '' }) => {
      for (const isStream of [false, true]) {
        const prompt = `[[text:a]]${callForm}${city('Oslo')}`
        const { inputs, text } = await runCalls(adapter, { prompt, isStream })
        t.strictSame(inputs, [{ city: 'Oslo' }])
        t.match(text, /21/)
      }
    }
  ],
  [
    'decisions.md 38: a loop runs both calls that the upstream returns',
    async (t, adapter, { hasParallelCalls, callForm = '' }) => {
      for (const isStream of [false, true]) {
        // A provider with one call per response makes the loop one turn longer.
        const prompt = `${callForm}${hasParallelCalls ? '[[parallel]]' : ''}${city('Oslo')}${city('Rome')}`
        const { inputs, text } = await runCalls(adapter, { prompt, isStream })
        t.strictSame(inputs, [{ city: 'Oslo' }, { city: 'Rome' }])
        t.match(text, /21/)
      }
    }
  ],
  [
    'structured output is parsed',
    async (t, adapter) => {
      const value = (await adapter.parse('hi')) as { name: unknown; tags: unknown }
      t.strictSame(Object.keys(value).sort(), ['name', 'tags'])
      t.type(value.name, 'string')
      t.ok(Array.isArray(value.tags))
    }
  ],
  [
    'an error status is the SDK’s own error, whole and before a stream',
    async (t, adapter, { readFailure }) => {
      await Promise.all(
        statuses.map(async status => {
          const prompt = `[[error:${status} message=So it is]]`
          const whole = await catchError(() => adapter.ask(prompt))
          const streamed = await readStream(adapter, prompt)
          const expected = readFailure(status)
          for (const error of [whole, streamed.error]) {
            t.equal(adapter.readStatus(error), expected.status)
            if (expected.isTold) t.match((error as Error).message, /So it is/)
            else t.notMatch((error as Error).message, /So it is/)
          }
        })
      )
    }
  ],
  [
    'a stream that breaks raises an error after its text',
    async (t, adapter) => {
      await Promise.all(
        breaks.map(async directive => {
          const { pieces, error } = await readStream(adapter, `${directive}[[chunks:a|b|c]]`)
          t.ok(error instanceof Error, directive)
          t.match(pieces.join(''), /^a/, directive)
        })
      )
    }
  ]
]
