// Writes a request of the normalized form as its JSON document. `read-request.ts` reads the document back without loss.

import type {
  ClientProtocol,
  ContentPart,
  FilePart,
  ImagePart,
  JsonObject,
  NormalizedMessage,
  NormalizedRequest,
  NormalizedTool,
  ProviderState
} from '../../normalized/index.ts'
import { toSnakeCase } from './names.ts'
import { documentProtocols } from './protocols.ts'

/**
 * Writes a request as a document that `normalizedRequestSchema` describes. Members at their defaults are left out. JSON of the client is
 * shared with the request, not copied.
 * @param protocol the protocol that the request was read from; undefined for a request that was read from a document without one.
 */
export function writeRequestDocument(request: NormalizedRequest, protocol: ClientProtocol | undefined): JsonObject {
  // The field paths and what the protocol can carry follow from the protocol.
  const {
    version,
    requestId,
    fieldPaths: _fieldPaths,
    carriesFileBytes: _carriesFileBytes,
    // Like the paths it says how the client's own wire spells the request, not what is asked.
    chatWire: _chatWire,
    // A document holds the question for a summary as a message; only the writer of the response treats its answer in another way.
    compacts: _compacts,
    model,
    isStream,
    wantsStreamUsage,
    messages,
    tools,
    usesLegacyFunctions,
    sampling,
    reasoning,
    conversation,
    output,
    additionalFields,
    echo,
    ignored,
    refusal,
    ...plain
  } = request
  if (refusal !== undefined) throw refusal
  const { maxOutputTokens, stop, ...controls } = sampling
  return clean({
    schema_version: version,
    request_id: requestId,
    ...(protocol === undefined ? {} : documentProtocols[protocol]),
    model,
    stream: isStream,
    wants_stream_usage: wantsStreamUsage || undefined,
    messages: messages.map(writeMessage),
    tools: tools.map(writeTool),
    uses_legacy_functions: usesLegacyFunctions || undefined,
    output: output && toSnakeCase(output),
    sampling: withMembers(controls),
    limits: withMembers({ maxOutputTokens, stop }),
    reasoning: reasoning && toSnakeCase(reasoning),
    conversation: conversation && toSnakeCase(conversation),
    provider_state: additionalFields && { native: { additional_fields: additionalFields } },
    ...toSnakeCase(plain),
    echo: echo && toSnakeCase(echo),
    ignored: Object.keys(ignored).length === 0 ? undefined : ignored
  })
}

function writeMessage({ content, uploadedFiles, state, ...message }: NormalizedMessage): JsonObject {
  return clean({
    ...toSnakeCase(message),
    parts: content.map(writePart),
    uploaded_files: uploadedFiles && toSnakeCase(uploadedFiles),
    state: writeState(state)
  })
}

function writePart(part: ContentPart): JsonObject {
  switch (part.type) {
    case 'image':
    case 'file':
      return writeMedia(part)
    case 'tool-result': {
      const { content, isError, state, ...result } = part
      return clean({
        ...toSnakeCase(result),
        parts: content.map(writePart),
        is_error: isError || undefined,
        state: writeState(state)
      })
    }
    default: {
      const { state, ...rest } = part
      return clean({ ...toSnakeCase(rest), state: writeState(state) })
    }
  }
}

function writeMedia({ source, state, ...part }: ImagePart | FilePart): JsonObject {
  return clean({ ...toSnakeCase(part), source: toSnakeCase(source), state: writeState(state) })
}

function writeTool(tool: NormalizedTool): JsonObject {
  const paths = tool.type === 'function' ? tool.memberPaths : undefined
  return clean({ ...toSnakeCase(tool), member_paths: paths && toSnakeCase(paths) })
}

/** Provider state by kind. */
export function writeState(state: ProviderState | undefined): JsonObject | undefined {
  if (state === undefined) return undefined
  const kinds = Object.entries(state).flatMap(([kind, members]) =>
    members === undefined ? [] : [[kind, toSnakeCase(members)]]
  )
  return Object.fromEntries(kinds)
}

function withMembers(source: object): JsonObject | undefined {
  const renamed = toSnakeCase(source)
  return Object.keys(renamed).length === 0 ? undefined : clean(renamed)
}

/** The document's own objects hold JSON only once undefined members are left out. */
export function clean(source: Record<string, unknown>): JsonObject {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined)) as JsonObject
}
