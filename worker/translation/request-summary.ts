// What is left of a request once its call is written. A stream may run for minutes, and all that time its prompt would be in memory twice.
// What comes back from a thread is even less: as few objects as possible, because receiving an object costs the event loop as much as
// parsing its JSON.

import type { FunctionTool, JsonObject, NormalizedRequest, NormalizedTool, OutputFormat } from '../normalized/index.ts'
import { clientFaces } from '../protocols/registry.ts'
import type { ChatJob } from './types.ts'

/** Longest JSON text of a member that is kept. No response repeats a longer one outside of its echo. */
const MEMBER_CHARACTERS_MAX = 16_384

/** Longest text of the user that is kept for the items of hosted tools, which repeat it. */
const USER_TEXT_CHARACTERS_MAX = 16_384

/** Removes the messages and schemas, which the writer of a response does not need. */
export function dropWrittenParts(request: NormalizedRequest): void {
  request.messages = []
  if (request.tools.length > 0) request.tools = request.tools.map(nameTool)
  if (request.output !== undefined) request.output = withoutSchema(request.output)
}

/** A request that `dropWrittenParts` has shortened, without its large members as well. */
export function summarizeRequest(request: NormalizedRequest, protocol: ChatJob['protocol']): NormalizedRequest {
  const summary: NormalizedRequest = { ...request, ignored: {} }
  for (const name of ['additionalFields', 'extraHeaders', 'metadata'] as const) {
    const members = request[name]
    if (members !== undefined) summary[name] = keepSmallMembers(members)
  }
  if (request.echo !== undefined) {
    const { userText } = request.echo
    summary.echo = { members: {} }
    const text = clientFaces[protocol].writeEchoText?.(request)
    if (text !== undefined) summary.echo.text = text
    if (userText !== undefined) summary.echo.userText = userText.slice(0, USER_TEXT_CHARACTERS_MAX)
  }
  return summary
}

/** A tool without its definition. */
function nameTool(tool: NormalizedTool): NormalizedTool {
  switch (tool.type) {
    case 'function': {
      const { type, name, namespace, freeForm, memberPaths } = tool
      const named: FunctionTool =
        namespace === undefined ? { type, name, parameters: {} } : { type, name, namespace, parameters: {} }
      // The calls of a custom tool have a form of their own.
      if (freeForm !== undefined) named.freeForm = {}
      // A provider may refuse a member of the declaration.
      if (memberPaths !== undefined) named.memberPaths = memberPaths
      return named
    }
    case 'hosted':
      return { ...tool, config: {} }
    case 'unsupported':
      return { ...tool, definition: null }
  }
}

function keepSmallMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => (JSON.stringify(value)?.length ?? 0) <= MEMBER_CHARACTERS_MAX)
  )
}

function withoutSchema(output: OutputFormat): OutputFormat {
  return output.type === 'json-schema' ? { ...output, schema: {} } : output
}
