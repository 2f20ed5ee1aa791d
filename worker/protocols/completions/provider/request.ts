// Writes a chat request on the chat completions wire (bridge.md 8.1).

import {
  invalidRequest,
  type JsonObject,
  type NormalizedRequest,
  type OutputFormat
} from '../../../normalized/index.ts'
import type { ChatTarget, WrittenChat } from '../../provider-face.ts'
import { refuseJsonWithoutSchema } from '../../shared/json-object-format.ts'
import { listMemberPaths } from '../../shared/members/member-paths.ts'
import { cleanToolName, mapToolNames } from '../../shared/tools/tool-names.ts'
import { STREAM_HEADERS, WIRE_HEADERS } from '../../shared/wire-headers.ts'
import type { ChatCompatibleOptions } from './options.ts'
import type { ChatCompatibleReading } from './reading.ts'
import { createMediaPlacer } from './write-media.ts'
import { writeMessages } from './write-messages.ts'
import { writeTools } from './write-tools.ts'

/** Services accept this many stop strings; the gateway applies all of them to the response itself. */
const STOPS_MAX = 4

const DEFAULT_FORMAT_NAME = 'response'

/**
 * Writes the body of a chat request, with its members in the order of bridge.md 8.1. Raises `GatewayError` with the client's own field:
 * `invalid_request` for a tool result without a call, an undeclared tool choice and a conversation without content, `unsupported_semantic` for media of
 * the newest turn that the model does not get, `unsupported_response_format` for JSON without a schema on an alias that does not declare it.
 */
export function writeChat(
  request: NormalizedRequest,
  target: ChatTarget,
  { chatPath }: ChatCompatibleOptions
): WrittenChat<ChatCompatibleReading> {
  const { isStream, metadata, output, reasoning, user, chatWire } = request
  const names = mapToolNames(request, cleanToolName)
  const placer = createMediaPlacer(target)
  const { messages, droppedToolCalls } = writeMessages(request.messages, names, placer)
  if (messages.length === 0) {
    const { messages: path } = request.fieldPaths
    throw invalidRequest(path, `'${path}' holds nothing that can be sent to the model.`)
  }
  const body: JsonObject = {}
  if (target.upstreamModel !== undefined) body.model = target.upstreamModel
  body.messages = messages
  body.stream = isStream
  // The client sees the usage only where its protocol shows it; records always need it
  // (field-lessons.md D2).
  if (isStream) body.stream_options = { include_usage: true }
  // Services take it for stored chats only: a client of this wire knows that, and those of others mean something else (decisions.md 78).
  const isMetadataMeant = chatWire !== undefined && metadata !== undefined && Object.keys(metadata).length > 0
  if (isMetadataMeant) body.metadata = metadata
  Object.assign(body, writeTools(request, names))
  const format = writeFormat(output, declares(target, 'json_object_output'))
  if (format !== undefined) body.response_format = format
  // `none` too: on some services an absent effort means thinking (decisions.md 81).
  if (reasoning?.effort !== undefined && declares(target, 'reasoning_effort')) body.reasoning_effort = reasoning.effort
  writeSampling(request, target, body)
  // The messages protocol names the user within its metadata (decisions.md 78).
  if (user !== undefined && metadata?.user_id !== user) body.user = user
  const leftOut = [...listMemberPaths(request, ['fewShotExamples', 'returnParameters']), ...placer.leftOut]
  return {
    method: 'POST',
    path: chatPath,
    headers: isStream ? STREAM_HEADERS : WIRE_HEADERS,
    body,
    attachments: [],
    reading: {
      toolNames: names.byWireName,
      stops: request.sampling.stop ?? [],
      droppedToolCalls
    },
    ...(leftOut.length > 0 && { leftOut })
  }
}

function declares({ features }: ChatTarget, feature: string): boolean {
  return features === undefined || features.includes(feature)
}

function writeSampling({ sampling, chatWire }: NormalizedRequest, target: ChatTarget, body: JsonObject): void {
  const { temperature, topP, maxOutputTokens, presencePenalty, frequencyPenalty, stop, seed } = sampling
  if (temperature !== undefined) body.temperature = temperature
  if (topP !== undefined) body.top_p = topP
  // Newer models refuse the older name, and many services do not know the newer one (decisions.md 74).
  const limitField = target.outputLimitField ?? chatWire?.outputLimit ?? 'max_tokens'
  if (maxOutputTokens !== undefined) body[limitField] = maxOutputTokens
  if (presencePenalty !== undefined) body.presence_penalty = presencePenalty
  if (frequencyPenalty !== undefined) body.frequency_penalty = frequencyPenalty
  const stops = stop?.filter(text => text !== '').slice(0, STOPS_MAX)
  if (stops !== undefined && stops.length > 0) body.stop = stops
  if (seed !== undefined) body.seed = seed
}

/** Writes `response_format`, whose name is mandatory on this wire; undefined for plain text. */
function writeFormat(output: OutputFormat | undefined, hasJsonMode: boolean): JsonObject | undefined {
  switch (output?.type) {
    case undefined:
    case 'text':
      return undefined
    case 'json-object':
      if (!hasJsonMode) throw refuseJsonWithoutSchema(output.path)
      return { type: 'json_object' }
    case 'json-schema': {
      const { name = DEFAULT_FORMAT_NAME, description, schema, strict } = output
      const format: JsonObject = { name }
      if (description !== undefined) format.description = description
      format.schema = schema
      if (strict !== undefined) format.strict = strict
      return { type: 'json_schema', json_schema: format }
    }
  }
}
