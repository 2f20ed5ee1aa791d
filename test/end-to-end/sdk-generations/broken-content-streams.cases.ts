// A content stream that fails must be an error for every client of that family: none may take it for a complete response.

import t from 'tap'
import { catchError } from '../../support/errors.ts'
import { startSuite } from './support.ts'

const clients = [
  '@google/genai 1.52',
  '@google/genai 2',
  '@google/genai 3',
  '@google/generative-ai 0.24',
  'ai 4 google',
  'ai 7 google'
]

const faults = ['[[errframe]]', '[[die]]', '[[noeof]]', '[[badframe]]']
/** On v1 its arguments come in pieces, on v2 whole. */
const call = '[[tool:weather {"city":"Oslo"}]][[callsplit]][[argfrag:4]]'

const failures: ReadonlyArray<[when: string, prompts: readonly string[]]> = [
  ['before the first byte', ['[[error:500]]', '[[die:0]]', '[[errframe]][[chunks:]]', '[[noeof]][[chunks:]]']],
  ['after text', faults.map(fault => `${fault}[[chunks:a|b|c]]`)],
  ['within a call', [...faults.map(fault => `${fault}${call}`), `[[die]][[text:a]]${call}`]]
]

const { seats } = await startSuite()
const chosen = seats.filter(({ adapter }) => clients.includes(adapter.name))

t.test('each client of this table has an adapter on both contracts', async t => {
  t.equal(chosen.length, 2 * clients.length)
})

for (const { version, adapter } of chosen) {
  for (const [when, prompts] of failures) {
    t.test(`decisions.md 52: ${version} ${adapter.name} reports an error ${when}`, async t => {
      const errors = await Promise.all(
        prompts.map(prompt =>
          catchError(async () => {
            for await (const _piece of adapter.stream(prompt));
          })
        )
      )
      for (const [index, error] of errors.entries()) t.ok(error instanceof Error, String(prompts[index]))
    })
  }
}
