// The headers that tell the client of a limited key what the key may still use (keys.md 2).
import type { JsonSchema } from './schema.ts'

const COUNTERS = ['Requests', 'Tokens'] as const
const PARTS = ['Limit', 'Remaining', 'Reset'] as const

type Counter = (typeof COUNTERS)[number]
type Part = (typeof PARTS)[number]

const nameInCompletions = (counter: Counter, part: Part) => `X-RateLimit-${part}-${counter}`
const nameInMessages = (counter: Counter, part: Part) => `Anthropic-RateLimit-${counter}-${part}`

/** Names of the headers of each client protocol; the content protocol has none. */
export const LIMIT_HEADERS: Readonly<Partial<Record<string, readonly string[]>>> = {
  completions: COUNTERS.flatMap(counter => PARTS.map(part => nameInCompletions(counter, part))),
  messages: COUNTERS.flatMap(counter => PARTS.map(part => nameInMessages(counter, part))),
  content: []
}

/** Their descriptions. */
export const limitHeaders: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  COUNTERS.flatMap(counter => {
    const what = counter.toLowerCase()
    const count = { schema: { type: 'string', pattern: '^\\d+$' } }
    const limit = { description: `How many ${what} the key may use per minute, where it has such a limit.`, ...count }
    const remaining = { description: `How many of these ${what} are left now.`, ...count }
    const duration = { type: 'string', pattern: '^(\\d+ms|(\\d+h)?(\\d+m)?\\d+(\\.\\d+)?s)$' }
    return [
      [nameInCompletions(counter, 'Limit'), limit],
      [nameInCompletions(counter, 'Remaining'), remaining],
      [
        nameInCompletions(counter, 'Reset'),
        {
          description: `How long it takes until all of these ${what} are free again, such as \`59.5s\`.`,
          schema: duration
        }
      ],
      [nameInMessages(counter, 'Limit'), limit],
      [nameInMessages(counter, 'Remaining'), remaining],
      [
        nameInMessages(counter, 'Reset'),
        {
          description: `The time at which all of these ${what} are free again.`,
          schema: { type: 'string', format: 'date-time' }
        }
      ]
    ]
  })
)
