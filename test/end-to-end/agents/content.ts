// A coding agent that uses generateContent: thoughts, signatures on calls, some schemas in the family's schema dialect.

import { PROMPT, type Turn, writeCallTurns } from './task.ts'
import { agentTools, writeWireTools } from './tools.ts'

const instruction =
  'You are an interactive agent.\n\n' +
  Array.from({ length: 100 }, (_, index) => `# Mandate ${index + 1}\n- Never guess: «verify».`).join('\n')
const context = 'This is the agent. The folder is /repo.'

/** One tool whose schema has the form that the SDK writes. */
const inOwnSubset = {
  name: 'save_memory',
  description: 'Remembers a fact.',
  parameters: {
    type: 'OBJECT',
    properties: {
      fact: { type: 'STRING', description: 'The fact', minLength: '1' },
      tags: { type: 'ARRAY', items: { type: 'STRING', format: 'enum', enum: ['a', 'b'] }, nullable: true },
      weight: { type: 'NUMBER', format: 'float', nullable: false }
    },
    required: ['fact'],
    propertyOrdering: ['tags', 'fact', 'weight']
  }
}

export const wireTools = [
  ...writeWireTools(agentTools),
  {
    name: 'save_memory',
    description: 'Remembers a fact.',
    parameters: {
      type: 'object',
      properties: {
        // `format: enum` is no format of another wire (decisions.md 83).
        tags: { type: ['array', 'null'], items: { type: 'string', enum: ['a', 'b'] } },
        fact: { type: 'string', description: 'The fact', minLength: 1 },
        weight: { type: 'number', format: 'float' }
      },
      required: ['fact']
    }
  }
]

export const options = {
  systemInstruction: { role: 'user', parts: [{ text: instruction }] },
  tools: [
    {
      functionDeclarations: [
        ...agentTools.map(({ name, description, schema }) => ({ name, description, parametersJsonSchema: schema })),
        inOwnSubset
      ]
    }
  ],
  generationConfig: {
    temperature: 0,
    topP: 0.95,
    topK: 64,
    thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 }
  },
  session_id: 'b2c6',
  labels: { agent: 'cli' }
}

export const firstContents: object[] = [
  { role: 'user', parts: [{ text: context }] },
  { role: 'model', parts: [{ text: 'Got it.' }] },
  { role: 'user', parts: [{ text: 'What is here?' }] },
  {
    role: 'model',
    parts: [
      { text: '**Looking around**', thought: true, thoughtSignature: 'c2VhbGVk' },
      { text: 'Let me see.' },
      {
        functionCall: {
          id: 'list_directory-1754400000000-ab',
          name: 'list_directory',
          args: { path: '/repo', depth: 1 }
        },
        thoughtSignature: 'skip_thought_signature_validator'
      },
      { functionCall: { name: 'web_search', args: { query: 'sum' } } }
    ]
  },
  {
    role: 'user',
    parts: [
      { functionResponse: { name: 'web_search', response: { error: 'Not allowed' } } },
      {
        functionResponse: {
          id: 'list_directory-1754400000000-ab',
          name: 'list_directory',
          response: { output: 'src\npackage.json' }
        }
      }
    ]
  },
  { role: 'model', parts: [{ text: 'One module, ' }] },
  { role: 'model', parts: [{ text: 'no tests.' }] },
  { role: 'model', parts: [{ text: '' }] },
  { role: 'user', parts: [{ text: PROMPT }] }
]

/** The turns before the first call of the task, in the form that the upstream must receive. */
export function writeEarlierTurns(isParallel: boolean): Turn[] {
  const calls = [
    { name: 'list_directory', arguments: { path: '/repo', depth: 1 }, sentResult: { output: 'src\npackage.json' } },
    { name: 'web_search', arguments: { query: 'sum' }, sentResult: { error: 'Not allowed' } }
  ]
  return [
    { role: 'system', text: instruction },
    { role: 'user', text: context },
    { role: 'assistant', text: 'Got it.' },
    { role: 'user', text: 'What is here?' },
    ...writeCallTurns(calls, { isParallel, text: 'Let me see.' }),
    { role: 'assistant', text: 'One module, no tests.' },
    { role: 'user', text: PROMPT }
  ]
}
