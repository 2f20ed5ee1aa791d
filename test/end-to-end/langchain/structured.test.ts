// LangChain against a started gateway: structured output over all four operations, by every method that the packages have.

import { HumanMessage } from '@langchain/core/messages'
import t from 'tap'
import { z } from 'zod'
import { lastUpstreamChat } from '../../support/client.ts'
import { catchError } from '../../support/errors.ts'
import { listSentFunctions } from '../../support/upstream.ts'
import { type Kind, startStack } from './support.ts'

const { emulator, seats, strangers } = await startStack(t)

// Without an enum: the SDK of the messages family writes it into a description.
const recipe = z.object({
  name: z.string().describe('What it is called'),
  tags: z.array(z.string()),
  note: z.string().nullable(),
  source: z.string().optional()
})

/** What a package does when the application names no method. */
const defaultMethods = {
  chat: 'jsonSchema',
  responses: 'jsonSchema',
  messages: 'functionCalling',
  content: 'functionCalling',
  'content-legacy': 'jsonSchema'
} satisfies Record<Kind, string>

/** How the upstream was asked: by the format of its answer or by a function. */
function readMethod(): string {
  const { body } = lastUpstreamChat(emulator)
  if ((body.model_options ?? body).response_format !== undefined) return 'jsonSchema'
  return listSentFunctions(body).length === 1 ? 'functionCalling' : 'none'
}

/** The properties of the schema that the upstream received, whatever the method. */
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
      t.match(JSON.stringify(note), /"null"/, 'null is still allowed')
    }
  })

  t.test(`${name}: the answer itself comes with the object when the application asks for it`, async t => {
    const structured = model.withStructuredOutput(recipe, { includeRaw: true, name: 'recipe' })
    const { raw, parsed } = await structured.invoke([new HumanMessage('hi')])
    t.ok(recipe.safeParse(parsed).success)
    t.ok((raw.text !== '') !== ((raw as { tool_calls?: object[] }).tool_calls?.[0] !== undefined))
  })

  t.test(`${name}: a format is streamed as it comes`, async t => {
    const structured = model.withStructuredOutput(recipe, { method: 'jsonSchema' })
    const parts: unknown[] = []
    for await (const part of await structured.stream('hi')) parts.push(part)
    t.ok(recipe.safeParse(parts.at(-1)).success)
  })

  t.test(`${name}: an answer that is no JSON is an error of the library`, async t => {
    const structured = model.withStructuredOutput(recipe, { method: 'jsonSchema' })
    const error = await catchError(() => structured.invoke('[[text:no json]]'))
    t.match((error as Error).message, /JSON|Failed to parse/)
  })
}

for (const { name, kind, model } of seats) {
  // Of the five chat models only these two have the mode.
  if (kind !== 'chat' && kind !== 'responses') continue

  t.test(`${name}: JSON without a schema is refused, naming the field`, async t => {
    const structured = model.withStructuredOutput(recipe, { method: 'jsonMode' })
    t.match(await catchError(() => structured.invoke('hi')), {
      status: 400,
      code: 'unsupported_response_format',
      param: kind === 'chat' ? 'response_format.type' : 'text.format.type'
    })
  })
}

t.test('nothing but this machine was spoken to', async t => {
  t.strictSame(strangers, [])
})
