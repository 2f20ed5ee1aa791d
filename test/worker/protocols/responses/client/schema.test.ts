import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type {
  ResponseCreateParamsBase,
  ResponseOutputItem,
  ResponseStreamEvent
} from 'openai/resources/responses/responses'
import t from 'tap'
import {
  type ResponsesEvent,
  type ResponsesLifecycleEvent,
  type ResponsesOutputItem,
  responsesParameters
} from '../../../../../worker/protocols/responses/client/schema.ts'
import type { Parameter } from '../../../../../worker/protocols/shared/parameters.ts'

// The compiler holds the same promises as the tests below: a parameter of the SDK that we do not know, an item or an event that the
// SDK does not know, does not type-check. Of the response object only what we leave to the SDK, or may not know, differs.
responsesParameters satisfies Record<keyof ResponseCreateParamsBase, Parameter>
type IsSubtype<Ours extends Theirs, Theirs> = Ours
export type Items = IsSubtype<ResponsesOutputItem, ResponseOutputItem>
export type ItemEvents = IsSubtype<Exclude<ResponsesEvent, ResponsesLifecycleEvent>, ResponseStreamEvent>

const sdkFolder = dirname(createRequire(import.meta.url).resolve('openai'))

/** The members of an interface in the type declarations that the SDK ships. */
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

t.test('only vendor members are additional fields by name', async t => {
  const additional = Object.entries<Parameter>(responsesParameters).filter(
    ([, parameter]) => parameter.isAdditionalField
  )
  t.strictSame(
    additional.map(([name]) => name),
    ['flags', 'function_ranker', 'profanity_check', 'repetition_penalty', 'storage', 'update_interval']
  )
})
