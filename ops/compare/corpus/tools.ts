// Declared tools, tool choices, every shape of a call, and whole tool loops that send the calls back with their results.

import type { CompareCase } from '../types.ts'
import {
  createCase,
  type Family,
  type Form,
  forms,
  type Loose,
  largest,
  nameForm,
  readJson,
  writeChat,
  writePrompt
} from './families.ts'

const schema = {
  type: 'object',
  properties: {
    x: { type: 'integer' },
    a: { $ref: '#/$defs/A' },
    b: { anyOf: [{ type: 'string', format: 'email' }, { type: 'null' }] },
    c: { type: ['integer', 'null'], enum: [1, 2, null] }
  },
  required: ['x'],
  additionalProperties: false,
  $defs: { A: { type: 'object', properties: { next: { $ref: '#/$defs/A' } } } }
}

const CHOICES = ['auto', 'none', 'some', 'named', 'allowed', 'unknown'] as const
type Choice = (typeof CHOICES)[number]

function declare(family: Family, names: readonly string[]): object {
  const description = 'Does it'
  switch (family) {
    case 'completions':
      return { tools: names.map(name => ({ type: 'function', function: { name, description, parameters: schema } })) }
    case 'responses':
      return { tools: names.map(name => ({ type: 'function', name, description, parameters: schema, strict: true })) }
    case 'messages':
      return { tools: names.map(name => ({ name, description, input_schema: schema })) }
    case 'content':
      return {
        tools: [{ functionDeclarations: names.map(name => ({ name, description, parametersJsonSchema: schema })) }]
      }
  }
}

function choose(family: Family, choice: Choice): object {
  const name = choice === 'unknown' ? 'nowhere' : 'b'
  switch (family) {
    case 'completions':
    case 'responses': {
      const named = family === 'completions' ? { type: 'function', function: { name } } : { type: 'function', name }
      if (choice === 'named' || choice === 'unknown') return { tool_choice: named }
      if (choice === 'allowed') {
        const allowed = { mode: 'required', tools: [named] }
        return {
          tool_choice:
            family === 'completions'
              ? { type: 'allowed_tools', allowed_tools: allowed }
              : { type: 'allowed_tools', ...allowed }
        }
      }
      return { tool_choice: choice === 'some' ? 'required' : choice }
    }
    case 'messages': {
      if (choice === 'named' || choice === 'unknown') return { tool_choice: { type: 'tool', name } }
      if (choice === 'allowed') return { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }
      return { tool_choice: { type: choice === 'some' ? 'any' : choice } }
    }
    case 'content': {
      const config: Record<Choice, object> = {
        auto: { mode: 'AUTO' },
        none: { mode: 'NONE' },
        some: { mode: 'ANY' },
        named: { mode: 'ANY', allowedFunctionNames: ['b'] },
        allowed: { mode: 'VALIDATED', allowedFunctionNames: ['a', 'b'] },
        unknown: { mode: 'ANY', allowedFunctionNames: ['nowhere'] }
      }
      return { toolConfig: { functionCallingConfig: config[choice] } }
    }
  }
}

const NAME_LISTS = [['b'], ['a', 'b'], ['b', 'web_search', 'get.weather', 'погода', 'x'.repeat(80)]]

const callPrompts = [
  '[[tool:b]]',
  '[[tool:b {"x":1}]]',
  '[[text:One moment.]][[tool:b {"x":1}]]',
  '[[reason:let me look]][[tool:b {"x":"Омск"}]]',
  '[[tool:a {"x":1}]][[tool:b {"x":2}]]',
  '[[parallel]][[tool:a {"x":1}]][[tool:b {"x":2}]]',
  '[[parallel]][[multimsg]][[partids]][[tool:a {"x":1}]][[tool:b {"x":2}]]',
  '[[callsplit]][[tool:b {"x":1}]]',
  '[[argfrag:3]][[tool:b {"x":12345}]]',
  '[[stringargs]][[tool:b {"x":1}]]',
  '[[msgcall]][[tool:b {"x":1}]]',
  '[[partids]][[tool:b {"x":1}]]',
  '[[nostate]][[tool:b {"x":1}]]',
  '[[statekey:tool_state_id]][[tool:b {"x":1}]]',
  '[[tool:b [1,2]]]',
  '[[tool:b "text"]]',
  '[[tool:b null]]',
  '[[undeclared]][[tool:elsewhere {"x":1}]]',
  '[[finish:length]][[tool:b {"x":1}]]',
  '[[die:2]][[tool:b {"x":1}]]'
]

export function createToolCases(): CompareCase[] {
  return forms.flatMap(form => {
    const { family } = form
    const choices = CHOICES.flatMap(choice =>
      NAME_LISTS.map(names =>
        createCase(
          `choice ${nameForm(form)} ${choice} of ${names.length}`,
          writeChat(form, { ...writePrompt(family, 'go'), ...declare(family, names), ...choose(family, choice) })
        )
      )
    )
    const calls = callPrompts.map(prompt =>
      createCase(
        `call ${nameForm(form)} ${prompt}`,
        writeChat(
          form,
          { ...writePrompt(family, prompt), ...declare(family, ['a', 'b']), ...allowSeveral(family) },
          { model: largest }
        )
      )
    )
    return [...choices, ...calls, ...loopPrompts.map(prompt => createLoop(form, prompt))]
  })
}

function allowSeveral(family: Family): object {
  return family === 'completions' || family === 'responses' ? { parallel_tool_calls: true } : {}
}

const loopPrompts = [
  '[[reason:first]][[tool:a {"x":1}]][[step]][[tool:b {"x":2}]][[step]][[text:done]]',
  '[[text:Both.]][[parallel]][[tool:a {"x":1}]][[tool:b {"x":2}]][[step]][[text:done]]'
]
const ROUNDS_MAX = 4
const results = ['{"degrees":21}', 'plain text', '[1,2]', '']

/** An agent that sends every response back as it came, with a result for each call, until no call is left. */
function createLoop(form: Form, prompt: string): CompareCase {
  const { family } = form
  return {
    name: `loop ${nameForm(form)} ${prompt}`,
    async run({ send }) {
      const turns: object[] = []
      const start = writePrompt(family, prompt)
      for (let round = 0; round < ROUNDS_MAX; round++) {
        const body = { ...addTurns(family, start, turns), ...declare(family, ['a', 'b']), ...allowSeveral(family) }
        const response = await send(writeChat(form, body, { model: largest }))
        if (response.status !== 200) return
        const taken = takeTurns(form, readJson(response))
        if (taken.length === 0) return
        turns.push(...taken)
      }
    }
  }
}

function addTurns(family: Family, start: object, turns: readonly object[]): object {
  const { messages, contents, input } = start as { messages?: object[]; contents?: object[]; input?: string }
  if (family === 'responses') return { input: [{ role: 'user', content: input }, ...turns] }
  return family === 'content'
    ? { contents: [...(contents ?? []), ...turns] }
    : { messages: [...(messages ?? []), ...turns] }
}

/** The turns that a response adds to the history: itself and a result for each call; none without a call. */
function takeTurns({ family, isStream }: Form, documents: Loose[]): object[] {
  const resultOf = (index: number) => results[index % results.length] ?? ''
  switch (family) {
    case 'completions': {
      const message = isStream ? joinDeltas(documents) : documents[0].choices[0].message
      const calls = message.tool_calls ?? []
      if (calls.length === 0) return []
      return [
        message,
        ...calls.map((call: Loose, index: number) => ({
          role: 'tool',
          tool_call_id: call.id,
          content: resultOf(index)
        }))
      ]
    }
    case 'responses': {
      const response = isStream ? documents.at(-1).response : documents[0]
      const calls = response.output.filter((item: Loose) => item.type === 'function_call')
      if (calls.length === 0) return []
      return [
        ...response.output,
        ...calls.map((call: Loose, index: number) => ({
          type: 'function_call_output',
          call_id: call.call_id,
          output: resultOf(index)
        }))
      ]
    }
    case 'messages': {
      const content = isStream ? joinBlocks(documents) : documents[0].content
      const calls = content.filter((block: Loose) => block.type === 'tool_use')
      if (calls.length === 0) return []
      const answers = calls.map((call: Loose, index: number) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: resultOf(index),
        ...(index === 1 ? { is_error: true } : {})
      }))
      return [
        { role: 'assistant', content },
        { role: 'user', content: answers }
      ]
    }
    case 'content': {
      const turns = documents.flatMap(chunk => chunk.candidates?.[0]?.content ?? [])
      const calls = turns.flatMap(turn => turn.parts ?? []).filter((part: Loose) => part.functionCall !== undefined)
      if (calls.length === 0) return []
      const parts = calls.map(({ functionCall }: Loose, index: number) => ({
        functionResponse: { id: functionCall.id, name: functionCall.name, response: { result: resultOf(index) } }
      }))
      return [...turns, { role: 'user', parts }]
    }
  }
}

function joinDeltas(chunks: Loose[]): Loose {
  const message: Loose = { role: 'assistant', content: '' }
  for (const chunk of chunks) {
    const delta = chunk.choices?.[0]?.delta ?? {}
    message.content += delta.content ?? ''
    for (const call of delta.tool_calls ?? []) {
      message.tool_calls ??= []
      const known = message.tool_calls[call.index]
      if (known === undefined) message.tool_calls[call.index] = structuredClone(call)
      else known.function.arguments += call.function?.arguments ?? ''
    }
  }
  return message
}

function joinBlocks(events: Loose[]): Loose[] {
  const blocks: Loose[] = []
  for (const { type, index, content_block, delta } of events) {
    if (type === 'content_block_start') blocks[index] = { ...content_block, input: '' }
    if (type !== 'content_block_delta') continue
    if (delta.type === 'text_delta') blocks[index].text += delta.text
    if (delta.type === 'thinking_delta') blocks[index].thinking += delta.thinking
    if (delta.type === 'signature_delta') blocks[index].signature = delta.signature
    if (delta.type === 'input_json_delta') blocks[index].input += delta.partial_json
  }
  return blocks.map(({ input, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: input === '' ? {} : JSON.parse(input) } : block
  )
}
