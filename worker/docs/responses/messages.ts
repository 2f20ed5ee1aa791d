// Responses of the messages protocol (messages.md 5 to 7).
import { z } from 'zod'
import type {
  MessagesContentBlock,
  MessagesContentDelta,
  MessagesDeltaUsage,
  MessagesErrorBody,
  MessagesErrorType,
  MessagesModel,
  MessagesModelPage,
  MessagesResponse,
  MessagesStopDetails,
  MessagesStopReason,
  MessagesStreamEvent,
  MessagesTokenCount,
  MessagesUsage
} from '../../protocols/messages/client/schema.ts'
import { count, describe, jsonObject } from '../schema.ts'

const stopReason = describe<MessagesStopReason>()(
  'MessageStopReason',
  z.enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal'])
)

const stopDetails = describe<MessagesStopDetails>()(
  'MessageStopDetails',
  z.strictObject({ type: z.literal('refusal'), category: z.null(), explanation: z.null() })
)

const deltaUsageMembers = {
  input_tokens: count.describe('All input tokens, including the cached ones.'),
  output_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  output_tokens_details: z.strictObject({ thinking_tokens: count }).exactOptional()
}
const deltaUsage = describe<MessagesDeltaUsage>()('MessageDeltaUsage', z.strictObject(deltaUsageMembers))
const usage = describe<MessagesUsage>()(
  'MessageUsage',
  z.strictObject({ ...deltaUsageMembers, service_tier: z.literal('standard') })
)

const contentBlock = describe<MessagesContentBlock>()(
  'MessageContentBlock',
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text'), text: z.string() }),
    z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
    z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() }),
    z.strictObject({
      type: z.literal('tool_use'),
      id: z.string(),
      name: z.string(),
      input: jsonObject,
      caller: z.strictObject({ type: z.literal('direct') })
    })
  ])
)

export const message = describe<MessagesResponse>()(
  'Message',
  z.strictObject({
    id: z.string(),
    type: z.literal('message'),
    role: z.literal('assistant'),
    model: z.string(),
    content: z.array(contentBlock),
    stop_reason: stopReason.nullable().describe('Null only in the first event of a stream.'),
    stop_sequence: z.string().nullable(),
    stop_details: stopDetails.nullable(),
    usage
  })
)

const contentDelta = describe<MessagesContentDelta>()(
  'MessageContentDelta',
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('text_delta'), text: z.string() }),
    z.strictObject({ type: z.literal('thinking_delta'), thinking: z.string() }),
    z.strictObject({ type: z.literal('signature_delta'), signature: z.string() }),
    z.strictObject({ type: z.literal('input_json_delta'), partial_json: z.string() })
  ])
)

const errorType = describe<MessagesErrorType>()(
  'MessagesErrorType',
  z.enum([
    'invalid_request_error',
    'authentication_error',
    'permission_error',
    'not_found_error',
    'request_too_large',
    'rate_limit_error',
    'overloaded_error',
    'timeout_error',
    'api_error'
  ])
)

export const messagesError = describe<MessagesErrorBody>()(
  'MessagesError',
  z.strictObject({
    type: z.literal('error'),
    error: z.strictObject({
      type: errorType,
      message: z.string(),
      code: z.string().exactOptional(),
      details: z.strictObject({ error_code: z.string() }).exactOptional()
    }),
    request_id: z.string()
  })
)

export const messageStreamEvent = describe<MessagesStreamEvent>()(
  'MessageStreamEvent',
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('message_start'), message }),
    z.strictObject({ type: z.literal('ping') }),
    z.strictObject({ type: z.literal('content_block_start'), index: count, content_block: contentBlock }),
    z.strictObject({ type: z.literal('content_block_delta'), index: count, delta: contentDelta }),
    z.strictObject({ type: z.literal('content_block_stop'), index: count }),
    z.strictObject({
      type: z.literal('message_delta'),
      delta: z.strictObject({
        stop_reason: stopReason,
        stop_sequence: z.string().nullable(),
        stop_details: stopDetails.nullable()
      }),
      usage: deltaUsage
    }),
    z.strictObject({ type: z.literal('message_stop') }),
    messagesError
  ]),
  'The data of one event; its type is also the name of the event.'
)

export const tokenCount = describe<MessagesTokenCount>()('MessageTokenCount', z.strictObject({ input_tokens: count }))

export const messagesModel = describe<MessagesModel>()(
  'MessagesModel',
  z.strictObject({
    id: z.string(),
    type: z.literal('model'),
    display_name: z.string(),
    created_at: z.string().meta({ format: 'date-time' }),
    capabilities: z.null(),
    lifecycle: z.enum(['active', 'deprecated']),
    deprecated_at: z.null(),
    retires_at: z.null(),
    line: z.null(),
    max_input_tokens: count.nullable(),
    max_tokens: count.nullable()
  })
)

export const messagesModelPage = describe<MessagesModelPage>()(
  'MessagesModelPage',
  z.strictObject({
    data: z.array(messagesModel),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable()
  })
)
