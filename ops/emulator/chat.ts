// Answers a chat call on any wire: read, look for ordered faults, plan, write.
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type BuiltinRun, emptyModel, picture } from './builtins.ts'
import type { ChatWire, ReadResult, ReadScope, ResponseContext } from './chat-wire.ts'
import { type DirectiveError, HANG_BEFORE_HEADERS, type Step } from './directive-steps.ts'
import { describeStatus, UpstreamError } from './errors.ts'
import { apiHeaders, breakConnection, type Exchange, JSON_TYPE, pause, sendBody, writeHtmlError } from './exchange.ts'
import { nameBuild } from './models.ts'
import { type AnswerPlan, planAnswer, readScene } from './scenario.ts'
import type { EmulatorState } from './state.ts'
import { planStream, writeStream } from './stream-writer.ts'

/**
 * Answers one chat call whose body has been read.
 * @throws UpstreamError for a request that the upstream refuses and for an error that a directive orders.
 */
export async function answerChat(
  exchange: Exchange,
  wire: ChatWire,
  input: { body: unknown; state: EmulatorState }
): Promise<void> {
  const { state } = input
  const read = wire.read(input.body, createScope(exchange, state))
  const scene = readScene(read.request)
  const { step } = scene
  if (step.slowMs !== undefined && !(await pause(exchange, step.slowMs))) return
  const flakyKey = `${read.request.dialect} ${scene.conversation.prompt}`
  if (step.flaky !== undefined && state.faults.isStillFlaky(flakyKey, step.flaky.times)) {
    throw createDirectiveError(step.flaky.error)
  }
  if (step.error !== undefined) throw createDirectiveError(step.error)
  // The connection stays open without a byte until the client or the emulator's end closes it.
  if (step.hangAfterFrames === HANG_BEFORE_HEADERS) return
  if (step.dieAfterFrames === 0) {
    breakConnection(exchange)
    return
  }
  const isStream = read.request.isStream
  if (step.badJson !== undefined) {
    sendUnusable(exchange, step.badJson, isStream)
    return
  }
  const plan = planAnswer(scene)
  const context = createContext(exchange, { wire, read, plan, state })
  remember(read, plan, state)
  if (!isStream) await writeWhole(exchange, wire.write(context), step)
  else {
    const errorFrame = step.errorFrame === undefined ? null : wire.writeErrorFrame(step.errorFrame)
    const script = planStream(wire.writeFrames(context), step, errorFrame)
    await writeStream(exchange, script, { step, tickMs: step.tickMs ?? state.settings.tickMs })
  }
}

function createScope(exchange: Exchange, state: EmulatorState): ReadScope {
  const { notes } = exchange.record
  return {
    account: exchange.account,
    settings: state.settings,
    models: state.models,
    threads: state.threads,
    files: state.files,
    stateIds: state.stateIds,
    note: text => {
      notes.push(text)
    },
    noteUnknownStateId: id => {
      state.recorder.stats.unknownStateIds++
      notes.push(`unknown state id ${id}`)
    }
  }
}

function createDirectiveError(error: DirectiveError): UpstreamError {
  const headers: Record<string, string> = error.retryAfter === null ? {} : { 'retry-after': error.retryAfter }
  return new UpstreamError(error.status, error.message ?? describeStatus(error.status), {
    headers,
    isHtml: error.isHtml
  })
}

function createContext(
  exchange: Exchange,
  input: { wire: ChatWire; read: ReadResult; plan: AnswerPlan; state: EmulatorState }
): ResponseContext {
  const { wire, read, plan, state } = input
  const { request, kept } = read
  const isToolTurn = plan.calls.length > 0 || plan.runs.length > 0 || (request.dialect === 'v2' && isAfterResult(read))
  const hasStateId = isToolTurn && plan.step.noStateId !== true && request.dialect !== 'chat'
  return {
    request,
    plan,
    model: nameBuild(request.model),
    createdSeconds: Math.floor(state.now() / 1000),
    stateId: hasStateId ? state.stateIds.issue(wire.stateIdForm) : null,
    threadId: kept === null ? null : kept.thread.id,
    messageId: kept === null ? null : randomUUID(),
    fileIds: plan.runs.map(run => storeRunFile(exchange, run, state)),
    includeUsage: read.includeUsage,
    createId: randomUUID
  }
}

function isAfterResult({ request }: ReadResult): boolean {
  return request.turns.at(-1)?.role === 'result'
}

function storeRunFile(exchange: Exchange, run: BuiltinRun, state: EmulatorState): string | null {
  if (run.file === null) return null
  const isPicture = run.file.kind === 'picture'
  const file = state.files.add({
    account: exchange.account,
    filename: isPicture ? 'picture.jpg' : 'model.glb',
    contentType: run.file.mime,
    content: isPicture ? picture : emptyModel
  })
  return file.id
}

function remember({ kept }: ReadResult, plan: AnswerPlan, state: EmulatorState): void {
  if (kept === null) return
  const answer = { role: 'assistant' as const, text: plan.text, results: [], fileCount: 0 }
  state.threads.append(kept.thread, [...kept.turns, answer])
}

const unusableBodies: Record<string, string> = {
  '': '{"choices":[{"message":{"content":"cut of',
  empty: '',
  array: '[]',
  null: 'null',
  object: '{}',
  html: writeHtmlError(200, 'Please come back later')
}

/** A 200 whose body is no answer: one of the named kinds, or the directive's own text. */
function sendUnusable(exchange: Exchange, kind: string, isStream: boolean): void {
  const body = Object.hasOwn(unusableBodies, kind) ? (unusableBodies[kind] ?? '') : kind
  sendBody(exchange, { status: 200, contentType: isStream ? 'text/event-stream' : JSON_TYPE, body })
}

async function writeWhole(exchange: Exchange, payload: Record<string, unknown>, step: Step): Promise<void> {
  const body = JSON.stringify(payload)
  const { response } = exchange
  const contentType = step.contentType ?? JSON_TYPE
  if (step.dieAfterFrames !== undefined || step.hangAfterFrames !== undefined) {
    const length = Buffer.byteLength(body)
    response.writeHead(200, { 'content-type': contentType, 'content-length': length, ...apiHeaders(exchange) })
    response.flushHeaders()
    if (step.dieAfterFrames === undefined) return
    response.write(body.slice(0, Math.floor(body.length / 2)), () => setImmediate(breakConnection, exchange))
    return
  }
  if (step.bytesPerWrite !== undefined) {
    const pieces = { blocks: [body], ending: 'end' as const }
    await writeStream(exchange, pieces, { step: { ...step, contentType }, tickMs: 0 })
    return
  }
  const isGzip = step.gzip === true && /\bgzip\b/.test(String(exchange.request.headers['accept-encoding']))
  sendBody(exchange, {
    status: 200,
    contentType,
    body: isGzip ? gzipSync(body) : body,
    headers: { ...(isGzip ? { 'content-encoding': 'gzip' } : {}), ...step.headers }
  })
}
