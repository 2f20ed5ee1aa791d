// Writes a chat request on the content wire (content.md 1 to 4, from the client's side).

import { invalidRequest, type JsonObject, type NormalizedRequest } from '../../../normalized/index.ts'
import type { ChatTarget, WrittenChat } from '../../provider-face.ts'
import { readDeclaredEffort } from '../../shared/declared-effort.ts'
import { listMemberPaths } from '../../shared/members/member-paths.ts'
import { mapToolNames } from '../../shared/tools/tool-names.ts'
import { STREAM_HEADERS, WIRE_HEADERS } from '../../shared/wire-headers.ts'
import { writeMethodPath } from './endpoints.ts'
import type { ContentCompatibleOptions } from './options.ts'
import type { ContentCompatibleReading } from './reading.ts'
import { writeContents } from './write-contents.ts'
import { writeGeneration } from './write-generation.ts'
import { createMediaPlacer } from './write-media.ts'
import { cleanFunctionName, writeTools } from './write-tools.ts'

/**
 * Writes a chat request: the path names the model and the method. Raises `GatewayError` with the client's own field: `invalid_request` for
 * a tool result without a call, an undeclared tool choice and a conversation without content, `unsupported_semantic` for media of the newest
 * turn that the model does not get, `unsupported_response_format` for JSON without a schema.
 */
export function writeChat(
  request: NormalizedRequest,
  { upstreamModel, features, isLocal }: ChatTarget,
  options: ContentCompatibleOptions
): WrittenChat<ContentCompatibleReading> {
  const { isStream } = request
  const names = mapToolNames(request, cleanFunctionName)
  const placer = createMediaPlacer({ features, isLocal })
  const written = writeContents(request.messages, names, { upstreamModel, placer })
  const { contents, systemInstruction, droppedToolCalls } = written
  if (contents.length === 0) {
    const { messages: path } = request.fieldPaths
    throw invalidRequest(path, `'${path}' holds nothing that can be sent to the model.`)
  }
  const body: JsonObject = { contents }
  if (systemInstruction !== undefined) body.systemInstruction = systemInstruction
  Object.assign(body, writeTools(request, names))
  const { reasoning, leftOut: undeclared } = readDeclaredEffort(request, { features })
  const generationConfig = writeGeneration({ ...request, reasoning }, upstreamModel)
  if (generationConfig !== undefined) body.generationConfig = generationConfig
  const method = isStream ? 'streamGenerateContent' : 'generateContent'
  const leftOut = [...undeclared, ...listMemberPaths(request, ['strict', 'fewShotExamples']), ...placer.leftOut]
  return {
    method: 'POST',
    path: writeMethodPath(upstreamModel, method, options) + (isStream ? '?alt=sse' : ''),
    headers: isStream ? STREAM_HEADERS : WIRE_HEADERS,
    body,
    attachments: [],
    reading: { toolNames: names.byWireName, droppedToolCalls },
    ...(leftOut.length > 0 && { leftOut })
  }
}
