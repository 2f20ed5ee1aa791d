// LangChain with a started gateway: structured output over all four operations, by every method that the packages have.

import { HumanMessage } from '@langchain/core/messages'
import t from 'tap'
import { z } from 'zod'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { type Kind, startSharedStack } from './support.ts'

const { emulator, seats, strangers } = await startSharedStack()

// Without an enum: the SDK of the messages family writes it into a description.
const recipe = z.object({
  name: z.string().describe('What it is called'),
  tags: z.array(z.string()),
  note: z.string().nullable(),
  source: z.string().optional()
})

/** The method of each package when the application names none. */
const defaultMethods = {
  chat: 'jsonSchema',
  responses: 'jsonSchema',
  messages: 'functionCalling',
  content: 'functionCalling',
  'content-legacy': 'jsonSchema'
} satisfies Record<Kind, string>

/** How the structure was requested upstream: by a response format or by a function. */
function readMethod(): string {
  const { body } = lastUpstreamChat(emulator)
  if ((body.model_options ?? body).response_format !== undefined) return 'jsonSchema'
  return listSentFunctions(body).length === 1 ? 'functionCalling' : 'none'
}

/** The properties of the schema that the upstream received, for any method. */
function readProperties(): Record<string, unknown> {
  const { body } = lastUpstreamChat(emulator)
  const schema = (body.model_options ?? body).response_format?.schema ?? listSentFunctions(body)[0]?.parameters
  return schema.properties
}

for (const { name, kind, model } of seats) {
  t.test(`${name}: an object follows its schema by every method`, async t => {
    for (const method of [undefined, 'jsonSchema', 'functionCalling'] as const) {
      const structured = model.withStructuredOutput(recipe, method === undefined ? {} : { method })
      t.ok(recipe.safeParse(await structured.invoke('hi')).success, method ?? 'without a method')
      t.equal(readMethod(), method ?? defaultMethods[kind])
      const { name: title, note, tags } = readProperties()
      t.match(title, { type: 'string', description: 'What it is called' })
      t.match(tags, { type: 'array', items: { type: 'string' } })
      t.match(JSON.stringify(note), /"null"/, 'null stays allowed')
    }
  })

  t.test(`${name}: the response is returned with the object when the application requests it`, async t => {
    const structured = model.withStructuredOutput(recipe, { includeRaw: true, name: 'recipe' })
    const { raw, parsed } = await structured.invoke([new HumanMessage('hi')])
    t.ok(recipe.safeParse(parsed).success)
    t.ok((raw.text !== '') !== ((raw as { tool_calls?: object[] }).tool_calls?.[0] !== undefined))
  })

  t.test(`${name}: structured output is streamed in parts`, async t => {
    const structured = model.withStructuredOutput(recipe, { method: 'jsonSchema' })
    const parts: unknown[] = []
    for await (const part of await structured.stream('hi')) parts.push(part)
    t.ok(recipe.safeParse(parts.at(-1)).success)
  })

  t.test(`${name}: a response that is not JSON is an error of the library`, async t => {
    const structured = model.withStructuredOutput(recipe, { method: 'jsonSchema' })
    const error = await catchError(() => structured.invoke('[[text:no json]]'))
    t.match((error as Error).message, /JSON|Failed to parse/)
  })
}

for (const { name, kind, model } of seats) {
  // Of the five chat models only these two have the mode.
  if (kind !== 'chat' && kind !== 'responses') continue

  t.test(`${name}: JSON without a schema is refused with its field`, async t => {
    const structured = model.withStructuredOutput(recipe, { method: 'jsonMode' })
    t.match(await catchError(() => structured.invoke('hi')), {
      status: 400,
      code: 'unsupported_response_format',
      param: kind === 'chat' ? 'response_format.type' : 'text.format.type'
    })
  })
}

t.test('every connection of these tests stays on this machine', async t => {
  t.strictSame(strangers, [])
})
