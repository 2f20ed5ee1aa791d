import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type {
  MessageCountTokensParams as BetaCountTokensParams,
  MessageCreateParamsBase as BetaCreateParams
} from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type {
  Message,
  MessageCountTokensParams,
  MessageCreateParamsBase,
  MessageTokensCount,
  RawMessageStreamEvent
} from '@anthropic-ai/sdk/resources/messages/messages'
import type { ModelInfo } from '@anthropic-ai/sdk/resources/models'
import t from 'tap'
import {
  countTokensParameters,
  type MessagesErrorBody,
  type MessagesModel,
  type MessagesResponse,
  type MessagesStreamEvent,
  type MessagesTokenCount
} from '../../../../../worker/protocols/messages/client/schema.ts'
import { messagesParameters } from '../../../../../worker/protocols/messages/members.ts'
import type { Parameter } from '../../../../../worker/protocols/shared/members/parameters.ts'

// The compiler checks the same rules as the test below: a parameter of a new SDK version that is missing in the table does not
// type-check, and neither does a written object without a member that the SDK's types require.
messagesParameters satisfies Record<keyof MessageCreateParamsBase | keyof BetaCreateParams, Parameter>
countTokensParameters satisfies Record<keyof MessageCountTokensParams | keyof BetaCountTokensParams, Parameter>
type MustBe<Wanted, _Written extends Wanted> = true
/**
 * The SDK's type with every member optional that may be null: the service omits most of them
 * (decisions.md 40).
 */
type AsSent<Sdk> =
  Sdk extends Array<infer Element>
    ? Array<AsSent<Element>>
    : Sdk extends object
      ? { [Name in keyof Sdk as null extends Sdk[Name] ? never : Name]: AsSent<Sdk[Name]> } & {
          [Name in keyof Sdk as null extends Sdk[Name] ? Name : never]?: AsSent<Sdk[Name]>
        }
      : Sdk
type SentEvents = Exclude<MessagesStreamEvent, { type: 'ping' } | MessagesErrorBody>
export type Checks = [
  MustBe<AsSent<Message>, MessagesResponse>,
  MustBe<AsSent<RawMessageStreamEvent>, SentEvents>,
  MustBe<ModelInfo, MessagesModel>,
  MustBe<MessageTokensCount, MessagesTokenCount>
]

const sdkFolder = dirname(createRequire(import.meta.url).resolve('@anthropic-ai/sdk'))

/** The members of an interface in the SDK's type declarations. */
function readMembers(file: string, name: string): string[] {
  const text = readFileSync(join(sdkFolder, 'resources', file), 'utf8')
  const start = text.indexOf(`export interface ${name} `)
  const declaration = text.slice(start, text.indexOf('\n}', start))
  return [...declaration.matchAll(/^ {4}(\w+)\??:/gm)].map(match => match[1] ?? '')
}

function findUnknown(members: readonly string[], table: object): string[] {
  return members.filter(name => !Object.hasOwn(table, name))
}

t.test('every parameter of the official SDK, including beta parameters, has a class (E1)', async t => {
  for (const file of ['messages/messages.d.ts', 'beta/messages/messages.d.ts']) {
    const create = readMembers(file, 'MessageCreateParamsBase')
    const count = readMembers(file, 'MessageCountTokensParams')
    t.ok(create.length >= 18 && count.length >= 11, 'the declarations were found and read')
    t.strictSame(findUnknown(create, messagesParameters), [])
    t.strictSame(findUnknown(count, countTokensParameters), [])
  }
})

t.test('all parameters that may be additional fields are supported parameters', async t => {
  const additional = Object.entries<Parameter>(messagesParameters).filter(
    ([, parameter]) => parameter.isAdditionalField
  )
  t.strictSame(
    additional.map(([name]) => name),
    ['flags', 'function_ranker', 'profanity_check', 'repetition_penalty', 'storage', 'update_interval']
  )
  t.ok(additional.every(([, parameter]) => parameter.class === 'supported'))
})
