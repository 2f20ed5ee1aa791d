// What comes back from a thread of a large request: only what the writer of its response needs, as few objects, because receiving an
// object costs the event loop as much as parsing its JSON.

import type { JsonObject, NormalizedRequest, NormalizedTool, OutputFormat } from '../normalized/index.ts'
import { clientFaces } from '../protocols/registry.ts'
import type { ChatJob } from './types.ts'

/** Longest JSON text of a member that is kept. No response repeats a longer one outside of its echo. */
const MEMBER_CHARACTERS_MAX = 16_384

/** Longest text of the user that is kept for the items of hosted tools, which repeat it. */
const USER_TEXT_CHARACTERS_MAX = 16_384

/** The request without its messages, schemas and large members. */
export function summarizeRequest(request: NormalizedRequest, protocol: ChatJob['protocol']): NormalizedRequest {
  const summary: NormalizedRequest = { ...request, messages: [], tools: request.tools.map(nameTool), ignored: {} }
  for (const name of ['additionalFields', 'extraHeaders', 'metadata'] as const) {
    const members = request[name]
    if (members !== undefined) summary[name] = keepSmallMembers(members)
  }
  if (request.output !== undefined) summary.output = withoutSchema(request.output)
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
      const { type, name, namespace } = tool
      return namespace === undefined ? { type, name, parameters: {} } : { type, name, namespace, parameters: {} }
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
