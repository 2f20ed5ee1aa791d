// The provider face of the toy kind: pure, like every face.

import {
  EventAssembler,
  flattenToolName,
  GatewayError,
  type NormalizedEvent,
  type NormalizedMessage,
  type NormalizedRequest,
  selectCallableTools
} from '../../../worker/normalized/index.ts'
import type { ProviderFace, ResponseReader } from '../../../worker/protocols/provider-face.ts'
import { readHeader } from '../../../worker/protocols/shared/errors/response-header.ts'
import { TOY_MARK, TOY_STREAM, TOY_WHOLE, type ToyLine, type ToyRequest, type ToyTurn } from './wire.ts'

export interface ToyOptions {
  base: string
}

export const toyFace: ProviderFace<ToyOptions, null> = {
  accepts: {
    features: {
      topK: 'ignored',
      seed: 'ignored',
      presencePenalty: 'ignored',
      frequencyPenalty: 'ignored',
      user: 'ignored',
      metadata: 'ignored',
      reasoningSummary: 'ignored',
      additionalFields: 'ignored',
      uploadedFiles: 'refused',
      storedConversation: 'refused',
      conversation: 'ignored',
      hostedTools: 'ignored',
      images: 'refused',
      files: 'refused'
    },
    refusals: { images: 'The toy is blind.' }
  },
  writeChat(request, { upstreamModel }, { base }) {
    const body = writeRequest(request, upstreamModel ?? '')
    return {
      method: 'POST',
      path: `${base}/ask`,
      headers: ['content-type', TOY_WHOLE, 'accept', request.isStream ? TOY_STREAM : TOY_WHOLE],
      body,
      bytes: Buffer.from(TOY_MARK + JSON.stringify(body)),
      attachments: [],
      reading: null
    }
  },
  createReader: () => createToyReader(),
  acceptsStream: ({ headers }) => readHeader(headers, 'content-type') === TOY_STREAM,
  readError({ status }, body) {
    const { trouble } = JSON.parse(Buffer.from(body).toString('utf8')) as { trouble: string }
    return new GatewayError('provider_failure', { status, message: trouble })
  },
  findError: () => undefined
}

function writeRequest(request: NormalizedRequest, model: string): ToyRequest {
  const choice = request.toolChoice ?? { type: 'auto' }
  const { functions } = selectCallableTools(request.tools, choice)
  return {
    model,
    stream: request.isStream,
    ask: request.messages.flatMap(writeTurns),
    tools: functions.map(tool => ({ name: flattenToolName(tool), schema: tool.parameters })),
    ...(choice.type === 'function' ? { mustCall: choice.name } : {})
  }
}

function writeTurns({ role, content }: NormalizedMessage): ToyTurn[] {
  const who = role === 'assistant' ? 'model' : role === 'system' || role === 'developer' ? 'system' : 'user'
  const turns: ToyTurn[] = []
  for (const part of content) {
    if (part.type === 'text' && part.text !== '') turns.push({ who, say: part.text })
    else if (part.type === 'reasoning' && part.state?.toy?.seal !== undefined) {
      turns.push({ who: 'model', think: part.text, seal: part.state.toy.seal })
    } else if (part.type === 'tool-call') {
      turns.push({ who: 'model', calls: [{ id: part.id ?? '', name: flattenToolName(part), args: part.arguments }] })
    } else if (part.type === 'tool-result') {
      const result = part.content.map(nested => (nested.type === 'text' ? nested.text : '')).join('')
      turns.push({ who: 'tool', id: part.callId ?? '', result })
    }
  }
  return turns
}

function createToyReader(): ResponseReader {
  const assembler = new EventAssembler()
  let rest = ''

  function readLine(line: string): void {
    if (line === '') return
    const read = JSON.parse(line) as ToyLine
    assembler.start({ providerModel: 'toy-7b', metadata: {} })
    if ('say' in read) assembler.text(read.say)
    else if ('think' in read) {
      assembler.reasoning(read.think)
      assembler.blockState({ toy: { seal: read.seal } })
    } else if ('call' in read) assembler.toolCall(read.call, JSON.stringify(read.call.args))
    else if ('trouble' in read) {
      assembler.fail(new GatewayError('provider_failure', { status: read.status, message: read.trouble }))
    } else {
      const [inputTokens, outputTokens] = read.tokens
      const reason = assembler.toolCallCount > 0 ? 'tool-calls' : read.end
      assembler.finish({ reason, providerReason: read.end, metadata: {} }, countUsage(inputTokens, outputTokens))
    }
  }

  function push(bytes: Uint8Array): NormalizedEvent[] {
    const lines = (rest + Buffer.from(bytes).toString('utf8')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) readLine(line)
    return assembler.take()
  }

  return {
    push,
    end() {
      if (!assembler.isTerminated) assembler.fail(new GatewayError('provider_protocol_error'))
      return assembler.take()
    },
    readBody(bytes) {
      const events = push(bytes)
      const last = events.at(-1)
      if (last?.type === 'error') throw last.error
      return events
    }
  }
}

function countUsage(inputTokens: number, outputTokens: number) {
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    reasoningTokens: null
  }
}
