// Responds to a chat call on any wire: read the request, apply the faults of its directives, plan the response, write it.
import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type BuiltinRun, emptyModel, picture } from './builtins.ts'
import type { ChatWire, ReadResult, ReadScope, ResponseContext } from './chat-wire.ts'
import { type DirectiveError, HANG_BEFORE_HEADERS, type Step } from './directive-steps.ts'
import { describeStatus, UpstreamError } from './errors.ts'
import {
  apiHeaders,
  breakConnection,
  type Exchange,
  JSON_TYPE,
  pause,
  sendBody,
  sendJson,
  writeHtmlError
} from './exchange.ts'
import { isObject } from './json.ts'
import { nameBuild } from './models.ts'
import { planResponse, type ResponsePlan, readPlanInput } from './response-plan.ts'
import type { EmulatorState } from './state.ts'
import { planStream, writeStream } from './stream-writer.ts'

/**
 * Sends the response of one chat call whose body has been parsed.
 * @throws UpstreamError for a request that the upstream refuses, and for the error of a directive.
 */
export async function respondToChat(
  exchange: Exchange,
  wire: ChatWire,
  input: { body: unknown; state: EmulatorState }
): Promise<void> {
  const { state } = input
  const read = wire.read(input.body, createScope(exchange, state))
  const planInput = readPlanInput(read.request)
  const { step } = planInput
  if (step.slowMs !== undefined && !(await pause(exchange, step.slowMs))) return
  const flakyKey = `${read.request.dialect} ${planInput.conversation.prompt}`
  if (step.flaky !== undefined && state.faults.isStillFlaky(flakyKey, step.flaky.times)) {
    throw createDirectiveError(step.flaky.error)
  }
  if (step.error !== undefined) throw createDirectiveError(step.error)
  if (step.redirect !== undefined) {
    const { status, location } = step.redirect
    sendBody(exchange, { status, contentType: 'text/plain', body: '', headers: { location } })
    return
  }
  if (step.refusedMember !== undefined) refuseMember(input.body, step.refusedMember)
  wire.checkStrictly?.(input.body, step)
  // No byte is sent; the connection stays open until the client disconnects or the emulator closes.
  if (step.hangAfterFrames === HANG_BEFORE_HEADERS) return
  if (step.breakAfterFrames === 0) {
    breakConnection(exchange)
    return
  }
  const isStream = read.request.isStream
  if (step.badJson !== undefined) {
    sendUnusable(exchange, step.badJson, isStream)
    return
  }
  if (step.errorInBody !== undefined) {
    await sendErrorInBody(exchange, wire, { error: step.errorInBody, step, isStream })
    return
  }
  const plan = planResponse(planInput)
  const context = createContext(exchange, { wire, read, plan, state })
  storeTurns(read, plan, state)
  if (!isStream) {
    const payload = wire.write(context)
    const malformed = step.malformed === undefined ? undefined : wire.writeMalformed?.(step.malformed, payload)
    if (malformed === undefined) await writeWhole(exchange, payload, step)
    else sendBody(exchange, { status: 200, contentType: JSON_TYPE, body: malformed })
  } else {
    const errorFrame = step.errorFrame === undefined ? null : wire.writeErrorFrame(step.errorFrame)
    const script = planStream(wire.writeFrames(context), { step, errorFrame, isArray: wire.isArray === true })
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
    responses: state.responses,
    note: text => {
      notes.push(text)
    },
    noteUnknownStateId: id => {
      state.recorder.stats.unknownStateIds++
      notes.push(`unknown state id ${id}`)
    }
  }
}

/** Refuses a body with this top-level member, as an upstream that does not know it. */
function refuseMember(body: unknown, { name, status }: { name: string; status: number }): void {
  if (isObject(body) && body[name] !== undefined) throw new UpstreamError(status, `${name} is not known here`)
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
  input: { wire: ChatWire; read: ReadResult; plan: ResponsePlan; state: EmulatorState }
): ResponseContext {
  const { wire, read, plan, state } = input
  const { request, stored } = read
  const isToolTurn = plan.calls.length > 0 || plan.runs.length > 0 || (request.dialect === 'v2' && isAfterResult(read))
  const stateIdForm = isToolTurn && plan.step.noStateId !== true ? wire.stateIdForm : null
  return {
    request,
    plan,
    model: nameBuild(request.model),
    createdSeconds: Math.floor(state.now() / 1000),
    stateId: stateIdForm === null ? null : state.stateIds.issue(stateIdForm),
    threadId: stored === null ? null : stored.thread.id,
    messageId: stored === null ? null : randomUUID(),
    fileIds: plan.runs.map(run => storeRunFile(exchange, run, state)),
    includeUsage: read.includeUsage,
    showsReasoning: read.showsReasoning !== false,
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

function storeTurns({ stored }: ReadResult, plan: ResponsePlan, state: EmulatorState): void {
  if (stored === null) return
  const response = { role: 'assistant' as const, text: plan.text, results: [], fileCount: 0 }
  state.threads.append(stored.thread, [...stored.turns, response])
}

const unusableBodies: Record<string, string> = {
  '': '{"choices":[{"message":{"content":"cut of',
  empty: '',
  array: '[]',
  null: 'null',
  object: '{}',
  html: writeHtmlError(200, 'Please come back later')
}

/** Sends a 200 with a body that no client can use: a named kind, or else `kind` itself as the text. */
function sendUnusable(exchange: Exchange, kind: string, isStream: boolean): void {
  const body = Object.hasOwn(unusableBodies, kind) ? (unusableBodies[kind] ?? '') : kind
  sendBody(exchange, { status: 200, contentType: isStream ? 'text/event-stream' : JSON_TYPE, body })
}

/** Sends a 200 whose body is an error: its status is in the body only, as `code`. In a stream it is the first frame. */
async function sendErrorInBody(
  exchange: Exchange,
  wire: ChatWire,
  { error, step, isStream }: { error: DirectiveError; step: Step; isStream: boolean }
): Promise<void> {
  const message = error.message ?? describeStatus(error.status)
  const frame = wire.writeErrorFrame({ status: error.status, message })
  const written = JSON.parse(frame.data)
  const payload = { ...written, error: { ...written.error, message, code: error.status } }
  if (!isStream) sendJson(exchange, 200, payload)
  else {
    const script = planStream([{ ...frame, data: JSON.stringify(payload) }], {
      step,
      errorFrame: null,
      isArray: wire.isArray === true
    })
    await writeStream(exchange, script, { step, tickMs: 0 })
  }
}

async function writeWhole(exchange: Exchange, payload: Record<string, unknown>, step: Step): Promise<void> {
  const body = (step.byteOrderMark === true ? '\ufeff' : '') + JSON.stringify(payload)
  const { response } = exchange
  const contentType = step.contentType ?? JSON_TYPE
  if (step.breakAfterFrames !== undefined || step.hangAfterFrames !== undefined) {
    const length = Buffer.byteLength(body)
    response.writeHead(200, { 'content-type': contentType, 'content-length': length, ...apiHeaders(exchange) })
    response.flushHeaders()
    if (step.breakAfterFrames === undefined) return
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
