// Requests that are over, made by hand, for the pure functions that describe their spans.

import { createRedactor } from '../../../../shared/secrets/redaction.ts'
import type { NormalizedEvent, NormalizedUsage } from '../../../../worker/normalized/index.ts'
import type { ClosedFacts, RequestFacts, RequestView } from '../../../../worker/observation/observer.ts'
import type { EndedRequest } from '../../../../worker/observation/tracing/attributes.ts'
import { CallRecord } from '../../../../worker/observation/tracing/call-record.ts'
import type { CaptureSwitches } from '../../../../worker/observation/tracing/capture-switches.ts'
import type { CallDescription, ChatDescription } from '../../../../worker/translation/call-description.ts'
import { findOperation } from '../../../support/operations.ts'

export const CANARY = 'canary-5e1f'
/** A text that redaction must find wherever it is. */
export const SECRET = 'sk-abcdefghijklmnopqrstuvwxyz'

export const NOTHING: CaptureSwitches = {
  content: false,
  messages: false,
  toolArguments: false,
  responses: false,
  charactersMax: 8000,
  redactor: createRedactor()
}
export const EVERYTHING: CaptureSwitches = {
  ...NOTHING,
  content: true,
  messages: true,
  toolArguments: true,
  responses: true
}

export const usage: NormalizedUsage = {
  inputTokens: 12,
  cacheReadTokens: 2,
  cacheWriteTokens: null,
  outputTokens: 34,
  reasoningTokens: 4,
  totalTokens: 46
}

export const chat: ChatDescription = {
  type: 'chat',
  protocol: 'completions',
  requestedModel: 'm',
  isStream: false,
  messageCount: 2,
  toolCount: 1,
  toolNames: ['weather'],
  toolChoice: { type: 'function', name: 'weather' },
  parameters: {
    temperature: 0.5,
    top_p: 0.9,
    top_k: 3,
    max_tokens: 64,
    seed: 1,
    presence_penalty: 0.1,
    frequency_penalty: 0.2
  },
  responseFormat: 'json_schema',
  previousResponseId: undefined,
  threadId: undefined,
  messages: { value: [{ role: 'user', content: `${CANARY} ${SECRET}` }], isCut: false },
  tools: { value: [{ name: 'weather', parameters: { note: CANARY } }], isCut: false },
  extensions: { value: { api_key: 'k1', note: CANARY }, isCut: false }
}

export const toolCallEvents: NormalizedEvent[] = [
  { type: 'start', providerModel: 'up:1', metadata: { upstream_x_request_id: 'x1' } },
  { type: 'text-start' },
  { type: 'text-delta', text: `Hello ${CANARY}` },
  { type: 'text-end' },
  { type: 'tool-call-start', index: 0, id: 'call_1', name: 'weather' },
  { type: 'tool-call-delta', index: 0, arguments: '{"city":' },
  { type: 'tool-call-delta', index: 0, arguments: `"${CANARY}"}` },
  { type: 'tool-call-end', index: 0 },
  { type: 'usage', usage },
  { type: 'finish', reason: 'tool-calls', providerReason: 'function_call', metadata: {} }
]

export interface EndedOptions {
  view?: Partial<RequestView>
  closed?: Partial<ClosedFacts>
  facts?: RequestFacts
  description?: CallDescription | undefined
  events?: readonly NormalizedEvent[]
  capture?: CaptureSwitches
  isStream?: boolean
}

/** A request that is over: a whole chat unless stated otherwise. */
export function endedRequest(options: EndedOptions = {}): EndedRequest {
  const { view, closed, capture = NOTHING, events = [], isStream = false } = options
  const requestedModel = 'description' in options ? options.description?.requestedModel : chat.requestedModel
  const planned = { model: 'm', requestedModel, upstreamModel: 'up', providerKind: 'native', profileId: 'p', isStream }
  const facts = options.facts ?? planned
  const { route = '/v1/chat/completions' } = view ?? {}
  const record = new CallRecord(capture)
  if (options.facts === undefined) record.planned = planned
  record.description = 'description' in options ? options.description : { ...chat, isStream }
  record.take(events, 10)
  return {
    record,
    request: {
      requestId: 'r1',
      traceId: 't1',
      spanId: 's1',
      method: 'POST',
      route,
      operation: findOperation(route),
      path: '/v1/chat/completions',
      protocol: 'openai',
      apiKeyHash: 'hmac-sha256:0',
      clientIpHash: 'hmac-sha256:1',
      caller: {
        name: 'openai-python',
        category: 'sdk',
        client_family: 'openai',
        sdk: 'openai-python',
        user_agent: 'OpenAI/Python 1.0',
        agent_id: 'a7'
      },
      clientRequestId: 'mine',
      startedAtMs: 5,
      startedAtEpochMs: 1_700_000_000_000,
      readRefusedModel: () => undefined,
      ...view
    } as RequestView,
    closed: {
      status: 200,
      lifecycle: isStream ? 'streaming_completed' : 'request_completed',
      isComplete: true,
      errorType: undefined,
      failure: undefined,
      durationMs: 12.34567,
      bytesSent: 100,
      facts,
      ...closed
    }
  }
}
