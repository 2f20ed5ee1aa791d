// Writes a streamed response in the family's form: one chunk per event that a client can see, then
// the usage, then `[DONE]` (completions.md 6.4); or an error, which nothing follows (6.5). Most
// chunks of a stream differ only in one text, so the constant parts are built once per stream.

import {
  assertNever,
  type FinishEvent,
  type GeneratedFile,
  GrowingText,
  type JsonValue,
  type NormalizedEvent,
  type NormalizedUsage,
  type ResponseIdentity
} from '../../../normalized/index.ts'
import type { ResponseContext, StreamFrames, StreamWriter } from '../../client-face.ts'
import { listFreeFormNames } from '../../shared/completions-family/free-form-tools.ts'
import { isShownAsLine, writeFileLines } from '../../shared/media/generated-files.ts'
import { concatFrames, joinFrames } from '../../shared/stream/stream-frames.ts'
import { writeCompletionsStreamError } from './errors.ts'
import { addDetails } from './provider-state.ts'
import type { CompletionsAnnotation, CompletionsDelta } from './schema.ts'
import { createCallDeltas } from './stream-calls.ts'
import { createExtensionDeltas, type ExtensionDeltas, type ExtensionEvent } from './stream-extensions.ts'
import {
  mapFinishReason,
  writeAnnotation,
  writeCompletionId,
  writeCreatedAt,
  writeFingerprint,
  writeMetadata,
  writeUsage
} from './write-response.ts'

const DONE = 'data: [DONE]\n\n'

const DELTA_START = '{"index":0,"delta":{'
const CONTENT = '"content":'

/** Creates the writer of one streamed response. Its text branch runs once per token and is kept short. */
export function createCompletionsStreamWriter(context: ResponseContext): StreamWriter {
  const { tools, usesLegacyFunctions, wantsStreamUsage } = context.request
  let head = writeHead(context, undefined)
  let beforeDelta = `${head}${DELTA_START}`
  let beforeContent = `${beforeDelta}${CONTENT}`
  /**
   * A client that asked gets the usage in a chunk of its own, and null in the others; other clients get none: a widely used SDK takes a
   * chunk with usage for the last one and ignores its choices (decisions.md 107).
   */
  const noUsage = wantsStreamUsage ? ',"usage":null' : ''
  const afterDelta = `},"logprobs":null,"finish_reason":null}]${noUsage}`
  const afterChunk = `${afterDelta}}\n\n`

  let hasChunk = false
  let isEnded = false
  let metadata: Record<string, string> = {}
  let usage: NormalizedUsage | null = null

  const calls = createCallDeltas(usesLegacyFunctions, listFreeFormNames(tools))
  const annotations: CompletionsAnnotation[] = []
  /** Collects the hosted tool runs and the files; created with the first one, because most responses have none. */
  let extensions: ExtensionDeltas | undefined
  /** Files that a line at the end of the content names. */
  const listedFiles: GeneratedFile[] = []
  let contentLength = 0
  /** Offset of the latest text block in the whole content; undefined before the first block. */
  let textOffset: number | undefined
  let hasReasoning = false
  /** Written before the next reasoning delta: a newline after a reasoning block has ended, otherwise empty. */
  let reasoningSeparator = ''
  /** The text of the open reasoning block: its state is sent with it. */
  let reasoning = new GrowingText()
  /** State that the provider wants back. It is sent at the end in one piece, because helpers of SDKs keep only the last of several lists. */
  const details: JsonValue[] = []

  /** Writes a chunk with `members` as its delta. The first chunk also has the role, because the SDK's helper throws without it. */
  function chunk(members: string): string {
    return hasChunk ? beforeDelta + members + afterChunk : joinFrames(firstChunk(members))
  }

  function firstChunk(members: StreamFrames): StreamFrames {
    hasChunk = true
    return concatFrames([`${beforeDelta}"role":"assistant",`, members, `${afterDelta}${metadataMember(metadata)}}\n\n`])
  }

  /** The chunk of most events: with its constant parts in one piece each it costs a tenth less. */
  function writeContent(text: string): string {
    return hasChunk ? beforeContent + text + afterChunk : chunk(CONTENT + text)
  }

  function chunkOf(delta: CompletionsDelta): string {
    return chunk(JSON.stringify(delta).slice(1, -1))
  }

  function chunkUnlessEmpty(members: string): string {
    return members === '' ? '' : chunk(members)
  }

  function chunkOfExtensions(members: StreamFrames): StreamFrames {
    if (members === '') return ''
    return hasChunk ? concatFrames([beforeDelta, members, afterChunk]) : firstChunk(members)
  }

  function writeExtension(event: ExtensionEvent): StreamFrames {
    if (event.type === 'file' && isShownAsLine(event.file)) listedFiles.push(event.file)
    extensions ??= createExtensionDeltas()
    return chunkOfExtensions(extensions.write(event))
  }

  function writeFinish(event: FinishEvent): StreamFrames {
    isEnded = true
    const reason = mapFinishReason(event.reason, { callCount: calls.count, usesLegacyFunctions })
    // A response without content still needs one chunk with the role and an empty content.
    const opening = hasChunk ? '' : chunk(`${CONTENT}""`)
    const rest = chunkOfExtensions(extensions?.writeRest() ?? '')
    addDetails(details, { state: event.state })
    const states = details.length === 0 ? '' : chunkOf({ reasoning_details: details })
    const lines = writeFileLines(listedFiles, context.request, contentLength > 0)
    const named = lines === '' ? '' : chunkOf({ content: lines })
    const sources = annotations.length === 0 ? '' : chunkOf({ annotations })
    const finish =
      `${beforeDelta}},"logprobs":null,"finish_reason":"${reason}"}]${noUsage}` +
      `${metadataMember({ ...metadata, ...event.metadata })}}\n\n`
    const hasUsage = wantsStreamUsage && usage !== null
    const usageChunk = hasUsage ? `${head}],"usage":${JSON.stringify(writeUsage(usage))}}\n\n` : ''
    return concatFrames([opening, states, rest, named, sources, finish, usageChunk, DONE])
  }

  function writeEvent(event: NormalizedEvent): StreamFrames {
    switch (event.type) {
      case 'text-delta':
        contentLength += event.text.length
        return writeContent(JSON.stringify(event.text))
      case 'reasoning-delta': {
        const text = reasoningSeparator + event.text
        reasoningSeparator = ''
        hasReasoning = true
        reasoning.add(event.text)
        return chunk(`"content":"","reasoning_content":${JSON.stringify(text)}`)
      }
      case 'refusal-delta':
        return chunk(`"refusal":${JSON.stringify(event.text)}`)
      case 'tool-call-start':
        calls.start(event)
        return ''
      case 'tool-call-delta':
        return chunkUnlessEmpty(calls.writeArguments(event))
      case 'tool-call-end':
        return chunkUnlessEmpty(calls.writeEnd(event))
      case 'hosted-tool-start':
      case 'hosted-tool-progress':
      case 'hosted-tool-end':
      case 'file':
        return writeExtension(event)
      case 'start':
        metadata = event.metadata
        if (event.identity !== undefined) {
          head = writeHead(context, event.identity)
          beforeDelta = `${head}${DELTA_START}`
          beforeContent = `${beforeDelta}${CONTENT}`
        }
        return ''
      case 'text-start':
        textOffset = contentLength
        return ''
      case 'citation':
        if (textOffset !== undefined) annotations.push(writeAnnotation(event.citation, textOffset))
        return ''
      case 'reasoning-end':
        if (hasReasoning) reasoningSeparator = '\n'
        addDetails(details, { reasoning: reasoning.toString(), state: event.state, callsBefore: calls.count })
        reasoning = new GrowingText()
        return ''
      case 'usage':
        usage = event.usage
        return ''
      case 'finish':
        return writeFinish(event)
      case 'error':
        isEnded = true
        return `data: ${JSON.stringify(writeCompletionsStreamError(event.error))}\n\n`
      case 'text-end':
        addDetails(details, { state: event.state, owner: 'previous-text' })
        return ''
      case 'reasoning-start':
      case 'refusal-start':
      case 'refusal-end':
        return ''
      default:
        return assertNever(event)
    }
  }

  return {
    write(events) {
      /** What goes before `written`: put together once, because each time copies all pieces so far. */
      const parts: StreamFrames[] = []
      let written = ''
      for (const event of events) {
        if (isEnded) break
        const frames = writeEvent(event)
        if (typeof frames === 'string') written += frames
        else {
          parts.push(written, frames)
          written = ''
        }
      }
      // The name of a call is written without waiting for its arguments (field-lessons.md A18).
      if (!isEnded) written += chunkUnlessEmpty(calls.writePending())
      return parts.length === 0 ? written : concatFrames([...parts, written])
    }
  }
}

/** The beginning of every chunk. */
function writeHead(context: ResponseContext, identity: ResponseIdentity | undefined): string {
  const fingerprint = writeFingerprint(context, identity)
  return (
    `data: {"id":${JSON.stringify(writeCompletionId(context, identity))},"object":"chat.completion.chunk",` +
    `"created":${writeCreatedAt(context, identity)},"model":${JSON.stringify(context.model)},` +
    `${fingerprint === undefined ? '' : `"system_fingerprint":${JSON.stringify(fingerprint)},`}"choices":[`
  )
}

function metadataMember(metadata: Record<string, string>): string {
  const shown = writeMetadata(metadata)
  return shown === undefined ? '' : `,"metadata":${JSON.stringify(shown)}`
}
