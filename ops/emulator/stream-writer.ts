// Writes the frames of a stream in two steps: a pure plan of text blocks, then the writes with their gaps, cuts and breaks.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import { HANG_BEFORE_HEADERS, type Step } from './directive-steps.ts'
import { apiHeaders, breakConnection, type Exchange, JSON_TYPE, onClosed, pause, writeHtmlError } from './exchange.ts'
import type { Frame } from './frame.ts'

export interface StreamScript {
  blocks: string[]
  contentType?: string
  /** After the last block: end the response, destroy the connection, or leave it open. */
  ending: 'end' | 'destroy' | 'hang'
}

const BATCH_LENGTH = 64 * 1024

function encodeFrame(frame: Frame, step: Step): string {
  const newline = step.crlf === true ? '\r\n' : '\n'
  const field = step.noSpace === true ? 'data:' : 'data: '
  const name = frame.event === null || step.noEventName === true ? '' : `event: ${frame.event}${newline}`
  const lines = step.multiLine === true && frame.kind !== 'done' ? prettyLines(frame.data) : [frame.data]
  const data = lines.map(line => `${field}${line}${newline}`).join('')
  const comment = step.ping === true ? `: ping${newline}${newline}` : ''
  return `${comment}${name}${data}${newline}`
}

/** Writes JSON over several lines, which a reader of server-sent events must join. */
function prettyLines(data: string): string[] {
  return JSON.stringify(JSON.parse(data), null, 1).split('\n')
}

/**
 * Plans a stream: the text of its frames and its end.
 * @param input.errorFrame the frame for `[[errframe]]`, which replaces the second half of the deltas and the end; otherwise `null`
 * @param input.isArray one JSON array in place of server-sent events
 */
export function planStream(
  frames: readonly Frame[],
  { step, errorFrame, isArray }: { step: Step; errorFrame: Frame | null; isArray: boolean }
): StreamScript {
  const encode = (frame: Frame) => (isArray ? frame.data : encodeFrame(frame, step))
  const kept = frames.filter(
    frame => !(step.noTerminal === true && frame.kind !== 'delta') && !(step.noDone === true && frame.kind === 'done')
  )
  let blocks = kept.map(encode)
  if (step.badFrame === true) {
    // Behind the first text, or else behind the first frame.
    const first = Math.max(
      0,
      kept.findIndex(frame => /"content":"[^"]|"text_delta","text":"[^"]|output_text\.delta"/.test(frame.data))
    )
    const event = kept[first]?.event ?? null
    blocks.splice(first + 1, 0, encode({ event, data: '{"choices":[{"delta":{"content":"cut of', kind: 'done' }))
  }
  if (errorFrame !== null) {
    const deltas = kept.filter(frame => frame.kind === 'delta').length
    blocks = [...blocks.slice(0, Math.ceil(deltas / 2)), encode(errorFrame)]
  }
  const head = isArray ? { contentType: JSON_TYPE } : {}
  if (isArray) blocks = [...blocks.map((block, index) => (index === 0 ? `[${block}` : `,\r\n${block}`)), ']']
  if (step.breakAfterFrames !== undefined) {
    const count = step.breakAfterFrames === 'middle' ? Math.ceil(blocks.length / 2) : step.breakAfterFrames
    return { ...head, blocks: blocks.slice(0, count), ending: 'destroy' }
  }
  if (step.hangAfterFrames !== undefined && step.hangAfterFrames !== HANG_BEFORE_HEADERS) {
    return { ...head, blocks: blocks.slice(0, step.hangAfterFrames), ending: 'hang' }
  }
  return { ...head, blocks, ending: 'end' }
}

interface Sink {
  /** Resolves when the next block may be written; to false when the connection is closed. */
  write: (block: string | Buffer) => Promise<boolean>
  end: () => void
}

/** Sends a planned stream with the API headers. Resolves after the last write or when the client has disconnected. */
export async function writeStream(
  exchange: Exchange,
  script: StreamScript,
  options: { step: Step; tickMs: number }
): Promise<void> {
  const { step, tickMs } = options
  const { response } = exchange
  const contentType = step.contentType ?? script.contentType ?? 'text/event-stream'
  const isGzip = step.gzip === true && /\bgzip\b/.test(String(exchange.request.headers['accept-encoding']))
  response.writeHead(200, {
    'content-type': contentType,
    ...apiHeaders(exchange),
    ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
    ...step.headers
  })
  if (contentType.startsWith('text/html')) {
    response.end(writeHtmlError(200, 'Please come back later'))
    return
  }
  const { blocks, ending } = script
  // A stream without gaps or cuts, as in the benchmark, is sent in one write.
  if (ending === 'end' && tickMs === 0 && step.bytesPerWrite === undefined && !isGzip && fitsOneBatch(blocks)) {
    response.end(blocks.join(''))
    return
  }
  response.flushHeaders()
  const sink = isGzip ? createGzipSink(exchange) : createPlainSink(exchange)
  if (!(await writeBlocks(exchange, sink, { blocks, tickMs, bytesPerWrite: step.bytesPerWrite ?? null }))) return
  if (ending === 'end') sink.end()
  else if (ending === 'destroy') {
    // Destroying the connection in the same turn would also discard the blocks that are still in its write buffer.
    await nextTurn()
    breakConnection(exchange)
  }
}

function fitsOneBatch(blocks: readonly string[]): boolean {
  let length = 0
  for (const block of blocks) length += block.length
  return length <= BATCH_LENGTH
}

async function writeBlocks(
  exchange: Exchange,
  sink: Sink,
  options: { blocks: readonly string[]; tickMs: number; bytesPerWrite: number | null }
): Promise<boolean> {
  const { tickMs, bytesPerWrite } = options
  const blocks = tickMs === 0 && bytesPerWrite === null ? batchBlocks(options.blocks) : options.blocks
  for (let index = 0; index < blocks.length; index++) {
    if (index > 0 && tickMs > 0 && !(await pause(exchange, tickMs))) return false
    const block = blocks[index] ?? ''
    const isOpen = bytesPerWrite === null ? await sink.write(block) : await writePieces(sink, block, bytesPerWrite)
    if (!isOpen) return false
  }
  return !exchange.isClosed
}

function batchBlocks(blocks: readonly string[]): string[] {
  const batches: string[] = []
  let batch = ''
  for (const block of blocks) {
    if (batch.length + block.length > BATCH_LENGTH && batch !== '') {
      batches.push(batch)
      batch = ''
    }
    batch += block
  }
  if (batch !== '') batches.push(batch)
  return batches
}

/** Writes a few bytes per turn of the event loop, so that each piece is sent separately. */
async function writePieces(sink: Sink, block: string, bytesPerWrite: number): Promise<boolean> {
  const bytes = Buffer.from(block)
  for (let start = 0; start < bytes.length; start += bytesPerWrite) {
    if (!(await sink.write(bytes.subarray(start, start + bytesPerWrite)))) return false
    await nextTurn()
  }
  return true
}

function createPlainSink(exchange: Exchange): Sink {
  const { response } = exchange
  return {
    write(block) {
      if (exchange.isClosed) return Promise.resolve(false)
      if (response.write(block)) return Promise.resolve(true)
      return new Promise(resolve => {
        const settle = () => {
          response.off('drain', settle)
          removeListener()
          resolve(!exchange.isClosed)
        }
        response.on('drain', settle)
        const removeListener = onClosed(exchange, settle)
      })
    },
    end: () => {
      response.end()
    }
  }
}

function createGzipSink(exchange: Exchange): Sink {
  const gzip = createGzip()
  gzip.pipe(exchange.response)
  onClosed(exchange, () => gzip.destroy())
  return {
    write(block) {
      if (exchange.isClosed) return Promise.resolve(false)
      return new Promise(resolve => {
        const settle = () => {
          removeListener()
          resolve(!exchange.isClosed)
        }
        const removeListener = onClosed(exchange, settle)
        gzip.write(block)
        gzip.flush(settle)
      })
    },
    end: () => {
      gzip.end()
    }
  }
}
