// The part of writing a request that both contracts share: names, turns, attachments and the data for the reader.

import { isJsonObject, type JsonObject, type JsonValue, type NormalizedRequest } from '../../normalized/index.ts'
import type { PendingAttachment, WrittenChat } from '../provider-face.ts'
import { listMemberPaths } from '../shared/members/member-paths.ts'
import { selectAdditionalFields } from './additional-fields.ts'
import { planAttachments } from './attachments.ts'
import { describeHistory } from './described-history.ts'
import type { NativeOptions } from './options.ts'
import type { NativeReading } from './reading.ts'
import { mapToolNames, type ToolNameMap } from './tool-names.ts'
import { planTools, type ToolContract, type ToolPlan } from './tools.ts'
import { readTurns, type Turn } from './turns.ts'

/** A turn with the ids or placeholders of its files. */
export interface PreparedTurn {
  turn: Turn
  fileIds: string[]
}

export interface PreparedRequest {
  names: ToolNameMap
  tools: ToolPlan
  turns: PreparedTurn[]
  /** Additional fields to send. */
  fields: JsonObject
  attachments: PendingAttachment[]
  droppedAttachments: number
  droppedToolCalls: number
  /** The client's fields that this upstream has no place for. */
  leftOut: string[]
}

/** Raises `GatewayError` with the client's field for a part that the native upstream cannot accept. */
export function prepareRequest(
  request: NormalizedRequest,
  options: NativeOptions,
  contract: ToolContract
): PreparedRequest {
  const fields = selectAdditionalFields(request)
  const names = mapToolNames(request)
  const tools = planTools(request, names, contract)
  const history = describeHistory(request, options)
  const conversation = readTurns(history.messages, options)
  const uploadedIds = request.uploadedFileIds ?? []
  const turns = withTurnForUploads(conversation.turns, uploadedIds)
  const plan = planAttachments(turns.map(listMedia), {
    request,
    limits: options.attachmentLimits,
    reserved: uploadedIds.length
  })
  const lastUser = turns.findLastIndex(isUserTurn)
  const prepared = turns.map((turn, index) => {
    const fileIds = plan.fileIds[index] ?? NO_FILES
    const hasUploads = index === lastUser && uploadedIds.length > 0
    return { turn, fileIds: hasUploads ? [...new Set([...fileIds, ...uploadedIds])] : fileIds }
  })
  return {
    names,
    tools,
    turns: prepared,
    fields,
    attachments: plan.pending,
    droppedAttachments: conversation.droppedAttachments + plan.dropped,
    droppedToolCalls: conversation.droppedToolCalls,
    leftOut: [...listMemberPaths(request, ['strict']), ...history.leftOut]
  }
}

/** Shared by all turns without files and never modified. */
const NO_FILES: string[] = []

/** Files that the client uploaded earlier go with the last user turn; without a user turn an empty one is added. */
function withTurnForUploads(turns: readonly Turn[], uploadedIds: readonly string[]): readonly Turn[] {
  if (uploadedIds.length === 0 || turns.some(isUserTurn)) return turns
  return [...turns, { type: 'text', role: 'user', text: '', media: [] }]
}

function isUserTurn(turn: Turn): boolean {
  return turn.type === 'text' && turn.role === 'user'
}

function listMedia(turn: Turn) {
  return turn.type === 'result' ? [] : turn.media
}

const JSON_HEADERS: readonly string[] = ['content-type', 'application/json']

/** Combines a chat body with its path below `base` and the data for the reader of the response. */
export function finishChat(
  body: JsonObject,
  prepared: PreparedRequest,
  facts: { base: string; responseFormat: JsonValue | undefined; buffersToolCalls: boolean }
): WrittenChat<NativeReading> {
  const { droppedAttachments, droppedToolCalls, leftOut } = prepared
  return {
    method: 'POST',
    path: `${facts.base}/chat/completions`,
    headers: JSON_HEADERS,
    body,
    attachments: prepared.attachments,
    reading: {
      toolNames: prepared.names.byWireName,
      declaredNames: prepared.names.wireNames,
      buffersToolCalls: facts.buffersToolCalls,
      // Only then may the next turn bring a result without its call.
      namesCallsInIds: isJsonObject(body.storage),
      expectsToolCall: prepared.tools.choice?.type === 'any',
      isStructuredOutput: isJsonObject(facts.responseFormat) && facts.responseFormat.type !== 'text',
      droppedAttachments,
      droppedToolCalls
    },
    ...(leftOut.length > 0 && { leftOut })
  }
}
