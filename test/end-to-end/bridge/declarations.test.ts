// What clients declare beside name and schema of a function, on every route: `strict` where the wire has it (decisions.md 77), schemas of
// results, empty lists of allowed functions.

import t from 'tap'
import { families, type Loose, send } from './families.ts'
import { NATIVE_ALIAS, providers, startBridge } from './providers/index.ts'

const { gateway, received, receivedNatively } = await startBridge(t)

interface Route {
  name: string
  model: string
  /** The wire has a place for a strict function, or for the schema of a result. */
  hasStrict: boolean
  hasResultSchema: boolean
  last(): Loose
}

const routes: Route[] = [
  {
    name: 'native',
    model: NATIVE_ALIAS,
    hasStrict: false,
    hasResultSchema: true,
    last: () => receivedNatively().findLast(({ path }) => path.endsWith('/chat/completions'))?.body
  },
  ...providers.map(provider => ({
    name: provider.name,
    model: provider.aliases.keyed,
    hasStrict: provider.name !== 'content',
    hasResultSchema: provider.name === 'content',
    last: () => received(provider, 'keyed').at(-1)?.body
  }))
]

const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }

/** A strict function in the words of each family that has the word. */
const strictTools = {
  completions: { tools: [{ type: 'function', function: { name: 'f', parameters: schema, strict: true } }] },
  responses: { tools: [{ type: 'function', name: 'f', parameters: schema, strict: true }] },
  messages: { tools: [{ name: 'f', input_schema: schema, strict: true }] }
}
const strictPaths = {
  completions: 'tools[0].function.strict',
  responses: 'tools[0].strict',
  messages: 'tools[0].strict'
}

const declaration = { name: 'f', parameters_json_schema: { type: 'object' }, response_json_schema: { type: 'string' } }
const declarations = [
  { tools: [{ functionDeclarations: [declaration] }], path: 'tools[0].functionDeclarations[0].response_json_schema' },
  {
    tools: [
      { function_declarations: [{ name: 'f', parametersJsonSchema: { type: 'object' }, response: { type: 'STRING' } }] }
    ],
    path: 'tools[0].function_declarations[0].response'
  }
]

for (const { name, model, hasStrict, hasResultSchema, last } of routes) {
  for (const isStream of [false, true]) {
    const form = isStream ? 'streamed' : 'whole'

    for (const family of families) {
      if (family.name === 'content') continue
      const more = strictTools[family.name]
      const path = strictPaths[family.name]
      t.test(`a strict function: ${family.name} on ${name}, ${form}`, async t => {
        const response = await send(gateway.url, family, { model, prompt: 'hi', isStream, more })
        t.equal(response.status, 200, response.text)
        const [tool] = last().tools ?? []
        t.equal(tool?.function?.strict ?? tool?.strict, hasStrict ? true : undefined)
        t.equal(response.headers.get('x-gateway-ignored'), hasStrict ? null : path)
        const exact = { 'x-gateway-unsupported': 'refuse' }
        const refused = await send(gateway.url, family, { model, prompt: 'hi', isStream, more, headers: exact })
        t.equal(refused.status, hasStrict ? 200 : 400)
        if (!hasStrict) t.equal(family.readFailure(refused).param, path)
      })
    }

    const content = families.find(family => family.name === 'content')
    if (content === undefined) throw new Error('No content family.')

    t.test(`the schema of a result: ${name}, ${form}`, async t => {
      for (const { tools, path } of declarations) {
        const response = await send(gateway.url, content, { model, prompt: 'hi', isStream, more: { tools } })
        t.equal(response.status, 200, response.text)
        t.match(JSON.stringify(last()), '"name":"f"')
        t.equal(response.headers.get('x-gateway-ignored'), hasResultSchema ? null : path)
      }
    })

    t.test(`an empty list of allowed functions: ${name}, ${form}`, async t => {
      const tools = [{ functionDeclarations: [{ name: 'f' }, { name: 'h' }] }]
      for (const allowed of [{ allowedFunctionNames: [] }, { allowed_function_names: [] }]) {
        const more = { tools, toolConfig: { functionCallingConfig: { mode: 'AUTO', ...allowed } } }
        const response = await send(gateway.url, content, { model, prompt: 'hi', isStream, more })
        t.equal(response.status, 200, response.text)
        const text = JSON.stringify(last())
        t.ok(text.includes('"name":"f"') && text.includes('"name":"h"'), text)
      }
    })
  }
}
