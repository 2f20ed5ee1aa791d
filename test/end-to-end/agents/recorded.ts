// The recorded requests of real agents, and what the upstream must receive for each of them.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { wireName } from './tools.ts'

// biome-ignore lint/suspicious/noExplicitAny: the recordings are requests of four protocols.
type Loose = any

export type Family = 'completions' | 'responses' | 'messages' | 'content'
export type Contract = 'v1' | 'v2'

export interface RecordedRequest {
  /** The file's name without its ending. */
  name: string
  family: Family
  method: string
  /** The path under the v1 contract, with the version that the agent's SDK adds. */
  path: string
  headers: Record<string, string>
  body: Loose
}

const folder = join(import.meta.dirname, '..', '..', 'fixtures', 'recorded', 'agents')

/** All recordings, in the order of their names. */
export function readRecordedRequests(): RecordedRequest[] {
  return readdirSync(folder)
    .filter(file => file.endsWith('.json'))
    .map(file => {
      // Some prompts make the embedded upstream fail, which is how the recorded history came about.
      const text = readFileSync(join(folder, file), 'utf8').replaceAll('[[errframe]]', '')
      const { method, path, headers, body } = JSON.parse(text)
      return {
        name: file.slice(0, -'.json'.length),
        family: readFamily(path),
        method,
        path: path.replace(/^\/v2(?=\/v1)/, '').replace(/^\/v2\//, '/v1/'),
        headers: chooseHeaders(headers),
        body
      }
    })
}

/** The path under a contract: an SDK that adds its own version is pointed at `/v2`, another at `/v1` or `/v2`. */
export function pathUnder({ path, family }: RecordedRequest, contract: Contract): string {
  if (contract === 'v1') return path
  return family === 'completions' || family === 'responses' ? path.replace(/^\/v1\//, '/v2/') : `/v2${path}`
}

function readFamily(path: string): Family {
  if (path.includes('/chat/completions')) return 'completions'
  if (path.includes('/responses')) return 'responses'
  return path.includes('/v1beta/') ? 'content' : 'messages'
}

/** The headers that a client in this process can set itself. */
function chooseHeaders(headers: Record<string, string>): Record<string, string> {
  const own = new Set(['accept-encoding', 'connection', 'content-length', 'content-type', 'host'])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !own.has(name)))
}

export interface SentFunction {
  name: string
  description?: string
  parameters: unknown
}

/** The functions that the native upstream must receive, each with the schema as the agent declared it. */
export function writeExpectedFunctions(request: RecordedRequest): SentFunction[] {
  return listFunctions(request).map(({ name, ...rest }) => ({ name: wireName(name), ...rest }))
}

/** The functions of a request, each with the schema as the agent declared it. */
export function listFunctions({ family, body }: RecordedRequest): SentFunction[] {
  const tools: Loose[] = body.tools ?? []
  if (family === 'completions') return tools.map(tool => writeFunction(tool.function, tool.function.parameters))
  if (family === 'messages') {
    const named = new Set(listReferences(body))
    return tools
      .filter(tool => tool.type === undefined || tool.type === 'custom')
      .filter(tool => tool.defer_loading !== true || named.has(tool.name))
      .map(tool => writeFunction(tool, tool.input_schema))
  }
  if (family === 'content') {
    return tools
      .flatMap(tool => tool.functionDeclarations ?? [])
      .map(tool => writeFunction(tool, tool.parametersJsonSchema))
  }
  const added = body.input.filter((item: Loose) => item.type === 'additional_tools')
  return [...tools, ...added.flatMap((item: Loose) => item.tools)]
    .flatMap(tool =>
      tool.type === 'namespace'
        ? tool.tools.map((inner: Loose) => ({ ...inner, name: `${tool.name}__${inner.name}` }))
        : [tool]
    )
    .filter(tool => tool.type === 'function' || tool.type === 'custom')
    .map(tool => (tool.type === 'custom' ? writeCustomTool(tool) : writeFunction(tool, tool.parameters)))
}

/** A custom tool is a function of one text, with the grammar in its description (decisions.md 77). */
function writeCustomTool({ name, description, format }: Loose): SentFunction {
  const rule = `The text of \`input\` must match this ${format.syntax} grammar:\n${format.definition}`
  return {
    name,
    description: `${description}\n\n${rule}`,
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
      required: ['input'],
      additionalProperties: false
    }
  }
}

/** A function without a schema takes no arguments. */
function writeFunction(tool: { name: string; description?: string }, schema: unknown): SentFunction {
  const { name, description } = tool
  const parameters = schema ?? { type: 'object', properties: {} }
  return { name, ...(description === undefined ? {} : { description }), parameters }
}

/** The tools that a search for tools has found. */
export function listReferences(body: Loose): string[] {
  return findParts(body.messages, 'tool_reference').map(part => part.tool_name)
}

/** The decision that a request proves, for the name of its test: one about its tools, or that the recordings lie in the project. */
export function nameDecision({ body }: RecordedRequest): string {
  if (body?.tools?.some((tool: Loose) => tool.defer_loading === true)) return 'decisions.md 57: '
  return body?.input?.some((item: Loose) => item.type === 'additional_tools')
    ? 'decisions.md 68: '
    : 'decisions.md 48: '
}

/** True when the request declares a search that the service runs, which only the v2 contract has. */
export function declaresSearch({ body }: RecordedRequest): boolean {
  const tools: Loose[] = body.tools ?? []
  return tools.some(tool => /^web_search/.test(tool.type ?? '') || tool.googleSearch !== undefined)
}

/**
 * The roles that the upstream must receive, in order. Equal neighbours are one: texts of a role are joined, and parallel calls and
 * their results are one turn each on v2 and pairs on v1.
 */
export function writeExpectedRoles(request: RecordedRequest, contract: Contract): string[] {
  const [first, ...rest] = listRoles(request, contract)
  // Only the first message may be a system message; later instructions are sent in the place where they stand.
  return joinNeighbours([first ?? '', ...rest.map(role => (role === 'system' ? 'user' : role))])
}

/** The roles of the conversation in order, with instructions in the place where they stand. */
export function listRoles({ family, body }: RecordedRequest, contract: Contract): string[] {
  return listSteps(family, body).flatMap(step => {
    if (typeof step === 'string') return [step]
    return contract === 'v1' ? step.calls.flatMap(() => ['assistant', 'tool']) : ['assistant', 'tool']
  })
}

export function joinNeighbours(roles: readonly string[]): string[] {
  return roles.filter((role, index) => role !== roles[index - 1])
}

/** A role with text, or calls with their results. Files of a result are sent in a turn of the user after it. */
type Step = string | { calls: unknown[] }

function listSteps(family: Family, body: Loose): Step[] {
  switch (family) {
    case 'completions':
      return body.messages.flatMap((message: Loose): Step[] => {
        if (message.role === 'tool') return []
        const text = message.content === undefined || message.content === '' ? [] : [message.role]
        return message.tool_calls === undefined ? text : [...text, { calls: message.tool_calls }]
      })
    case 'messages': {
      const system = body.system === undefined ? [] : ['system']
      const steps = body.messages.flatMap((message: Loose): Step[] => {
        const parts: Loose[] = typeof message.content === 'string' ? [{ type: 'text' }] : message.content
        const calls = parts.filter(part => part.type === 'tool_use')
        if (calls.length > 0) return [{ calls }]
        const hasFiles = findParts(parts, 'image').length > 0 || findParts(parts, 'document').length > 0
        const isSent = parts.some(part => part.type === 'text') || hasFiles
        return isSent ? [message.role] : []
      })
      return [...system, ...steps]
    }
    case 'content': {
      const system = body.systemInstruction === undefined ? [] : ['system']
      const steps = body.contents.flatMap(({ role, parts }: Loose): Step[] => {
        const calls = parts.filter((part: Loose) => part.functionCall !== undefined)
        if (calls.length > 0) return [{ calls }]
        if (!parts.some((part: Loose) => part.text !== undefined || part.inlineData !== undefined)) return []
        return [role === 'model' ? 'assistant' : 'user']
      })
      return [...system, ...steps]
    }
    case 'responses':
      return listItems(body.input)
  }
}

/** Calls that follow each other without a result between them belong to one response. */
function listItems(items: Loose[]): Step[] {
  const steps: Step[] = []
  let previous = ''
  for (const item of items) {
    const last = steps.at(-1)
    if (item.type === 'function_call') {
      if (previous === 'function_call' && typeof last === 'object') last.calls.push(item)
      else steps.push({ calls: [item] })
    } else if (item.type === 'message') {
      steps.push(item.role === 'developer' ? 'system' : item.role)
    } else if (findParts(item.output, 'input_image').length > 0) {
      steps.push('user')
    }
    previous = item.type
  }
  return steps
}

/** The files of a request; the same content counts once. The messages family has no documents, only images. */
export function listFiles({ body }: RecordedRequest): string[] {
  const conversation = [body.messages, body.input, body.contents]
  const contents = [
    ...findParts(conversation, 'image').map(part => part.source.data),
    ...findParts(conversation, 'document').map(part => part.source.data),
    ...findParts(conversation, 'input_image').map(part => part.image_url.replace(/^data:[^,]*,/, '')),
    ...findMembers(conversation, 'inlineData').map(data => data.data)
  ]
  return [...new Set(contents)]
}

function findParts(value: Loose, type: string): Loose[] {
  if (typeof value !== 'object' || value === null) return []
  return [...(value.type === type ? [value] : []), ...Object.values(value).flatMap(inner => findParts(inner, type))]
}

function findMembers(value: Loose, name: string): Loose[] {
  if (typeof value !== 'object' || value === null) return []
  return [...(name in value ? [value[name]] : []), ...Object.values(value).flatMap(inner => findMembers(inner, name))]
}
