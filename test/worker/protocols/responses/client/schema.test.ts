import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type {
  ResponseCreateParamsBase,
  ResponseOutputItem,
  ResponseStreamEvent
} from 'openai/resources/responses/responses'
import t from 'tap'
import type {
  ResponsesEvent,
  ResponsesLifecycleEvent,
  ResponsesModelGeneration,
  ResponsesOutputItem
} from '../../../../../worker/protocols/responses/client/schema.ts'
import { responsesParameters } from '../../../../../worker/protocols/responses/members.ts'
import type { Parameter } from '../../../../../worker/protocols/shared/members/parameters.ts'
import { eventsOf, writeResponse } from './support.ts'

// The compiler checks the same rules as the tests below: a parameter of the SDK that is missing in the table does not type-check,
// and neither does an item or event that the SDK does not have. Events with a response object are left out, because some of its members
// are added only by the SDK, and others are unknown to the SDK. So is the item of a 3D model, and the events that contain whole items.
responsesParameters satisfies Record<keyof ResponseCreateParamsBase, Parameter>
type IsSubtype<Written extends Declared, Declared> = Written
export type Items = IsSubtype<Exclude<ResponsesOutputItem, ResponsesModelGeneration>, ResponseOutputItem>
type OfWholeItem = { type: `response.output_item.${'added' | 'done'}` }
export type ItemEvents = IsSubtype<Exclude<ResponsesEvent, ResponsesLifecycleEvent | OfWholeItem>, ResponseStreamEvent>

const sdkFolder = dirname(createRequire(import.meta.url).resolve('openai'))

/** The members of an interface in the SDK's type declarations. */
function readMembers(name: string): string[] {
  const text = readFileSync(join(sdkFolder, 'resources/responses/responses.d.ts'), 'utf8')
  const start = text.indexOf(`export interface ${name} `)
  const declaration = text.slice(start, text.indexOf('\n}', start))
  return [...declaration.matchAll(/^ {4}(\w+)\??:/gm)].map(match => match[1] ?? '')
}

t.test('every parameter of the official SDK has a class (E1)', async t => {
  const names = readMembers('ResponseCreateParamsBase')
  t.ok(names.length > 30, 'the declaration was found and read')
  t.strictSame(
    names.filter(name => !Object.hasOwn(responsesParameters, name)),
    []
  )
})

/** Members that the SDK adds, that only the service itself can know, or that are absent where the request has none. */
const UNKNOWN_MEMBERS = [
  'output_text',
  'conversation',
  'image',
  'input_transformations',
  'moderation',
  'prompt',
  'prompt_cache_diagnostics',
  'prompt_cache_options',
  'tool_usage',
  'user'
]

t.test(
  'decisions.md 91: a response has every member of the official SDK that a service carries without being asked',
  async t => {
    const names = readMembers('Response')
    t.ok(names.length > 30, 'the declaration was found and read')
    const written = writeResponse(eventsOf(() => undefined))
    t.strictSame(
      names.filter(name => !Object.hasOwn(written, name)),
      UNKNOWN_MEMBERS
    )
  }
)

t.test('only vendor members are declared as additional fields', async t => {
  const additional = Object.entries<Parameter>(responsesParameters).filter(
    ([, parameter]) => parameter.isAdditionalField
  )
  t.strictSame(
    additional.map(([name]) => name),
    ['flags', 'function_ranker', 'profanity_check', 'repetition_penalty', 'storage', 'update_interval']
  )
})
