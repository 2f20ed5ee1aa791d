// Reads the JSON document of a request back into the normalized form.

import type { z } from 'zod'
import {
  assertBounded,
  type ClientProtocol,
  type ContentPart,
  type ErrorPlace,
  GatewayError,
  type JsonObject,
  NORMALIZED_VERSION,
  type NormalizedMessage,
  type NormalizedRequest,
  type NormalizedTool,
  type OutputFormat,
  type ProviderState
} from '../../normalized/index.ts'
import { clientFaces } from '../../protocols/registry.ts'
import { toCamelCase } from './names.ts'
import { documentTraits, findDocumentProtocol } from './protocols.ts'
import {
  type MessageDocument,
  normalizedRequestSchema,
  type PartDocument,
  type RequestDocument,
  type StateDocument
} from './schema.ts'

export interface ReadDocument {
  request: NormalizedRequest
  /** The client protocol that the document names. */
  protocol: ClientProtocol | undefined
}

/** A document with more mistakes is wrong altogether. */
const ERRORS_MAX = 50

/**
 * Reads a document. Raises `invalid_normalized_payload` with the path of every mistake.
 * @param requestId of a document that has none.
 */
export function readRequestDocument(document: JsonObject, requestId: string): ReadDocument {
  const parsed = normalizedRequestSchema.safeParse(document)
  if (!parsed.success) throw invalidPayload(parsed.error.issues.slice(0, ERRORS_MAX).map(readIssue))
  const protocol = readProtocol(parsed.data)
  const request = toRequest(parsed.data, protocol, requestId)
  try {
    assertBounded(request)
  } catch (thrown) {
    throw GatewayError.is(thrown) ? invalidPayload([{ path: thrown.param ?? '', message: thrown.message }]) : thrown
  }
  return { request, protocol }
}

function readProtocol(document: RequestDocument): ClientProtocol | undefined {
  const { protocol, operation } = document
  if (protocol === undefined && operation !== 'responses') return undefined
  const found = findDocumentProtocol(document)
  if (found !== undefined) return found
  throw invalidPayload([{ path: 'operation', message: 'responses is an operation of the protocol openai' }])
}

function toRequest(
  document: RequestDocument,
  protocol: ClientProtocol | undefined,
  requestId: string
): NormalizedRequest {
  const {
    schema_version: _version,
    request_id: givenId = requestId,
    protocol: _protocol,
    operation: _operation,
    stream,
    messages,
    sampling,
    limits,
    output,
    reasoning,
    conversation,
    provider_state: providerState,
    echo,
    tools,
    tool_choice: toolChoice,
    ...plain
  } = document
  const traits = protocol === undefined ? documentTraits : clientFaces[protocol].traits
  const request: NormalizedRequest = {
    version: NORMALIZED_VERSION,
    requestId: givenId,
    ...traits,
    isStream: stream,
    messages: messages.map((message, index) => readMessage(message, `messages[${index}]`)),
    tools: tools.map(readTool),
    sampling: { ...(sampling && toCamelCase(sampling)), ...(limits && toCamelCase(limits)) },
    ...toCamelCase(plain)
  }
  if (toolChoice !== undefined) request.toolChoice = toCamelCase(toolChoice)
  if (output !== undefined) request.output = readOutput(output)
  if (reasoning !== undefined) request.reasoning = toCamelCase(reasoning)
  if (conversation !== undefined) request.conversation = toCamelCase(conversation)
  if (providerState !== undefined) request.additionalFields = providerState.native.additional_fields
  if (echo !== undefined) request.echo = toCamelCase(echo)
  return request
}

function readMessage({ parts, uploaded_files: files, state, ...message }: MessageDocument, path: string) {
  const read: NormalizedMessage = { ...toCamelCase(message), content: readParts(parts, path), ...readState(state) }
  if (files !== undefined) read.uploadedFiles = { path: `${path}.uploaded_files`, ...toCamelCase(files) }
  return read
}

function readParts(parts: readonly PartDocument[], parent: string): ContentPart[] {
  return parts.map((part, index) => readPart(part, `${parent}.parts[${index}]`))
}

function readPart(part: PartDocument, path: string): ContentPart {
  const { state, ...members } = part
  switch (members.type) {
    case 'image':
    case 'file': {
      const { source, ...media } = members
      return { path, ...toCamelCase(media), source: toCamelCase(source), ...readState(state) }
    }
    case 'tool-result': {
      const { parts, ...result } = members
      return { path, ...toCamelCase(result), content: readParts(parts, path), ...readState(state) }
    }
    default:
      return { ...toCamelCase(members), ...readState(state) }
  }
}

function readState(state: StateDocument | undefined): { state?: ProviderState } {
  if (state === undefined) return {}
  const kinds = Object.entries(state).flatMap(([kind, members]) =>
    members === undefined ? [] : [[kind, toCamelCase(members)]]
  )
  return { state: Object.fromEntries(kinds) }
}

function readTool(tool: RequestDocument['tools'][number]): NormalizedTool {
  if (tool.type !== 'function') return toCamelCase(tool)
  const { member_paths: paths, free_form: freeForm, ...rest } = tool
  return {
    ...toCamelCase(rest),
    ...(freeForm && { freeForm: toCamelCase(freeForm) }),
    ...(paths && { memberPaths: toCamelCase(paths) })
  }
}

function readOutput(output: NonNullable<RequestDocument['output']>): OutputFormat {
  return output.type === 'json-object' ? { path: 'output.type', ...toCamelCase(output) } : toCamelCase(output)
}

function readIssue({ path, message }: z.core.$ZodIssue): ErrorPlace {
  return { path: writePath(path), message }
}

function writePath(steps: readonly PropertyKey[]): string {
  return steps.reduce<string>((path, step) => {
    if (typeof step === 'number') return `${path}[${step}]`
    return path === '' ? String(step) : `${path}.${String(step)}`
  }, '')
}

function invalidPayload(errors: readonly ErrorPlace[]): GatewayError {
  return new GatewayError('invalid_normalized_payload', { errors })
}
