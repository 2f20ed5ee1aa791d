// Reads the bytes of a connection as HTTP responses.

export interface RawResponse {
  status: number
  /** As it came, with the names in lower case. */
  head: string
  body: Buffer
}

/**
 * The final responses in their order; interim ones are skipped. `methods` are those of the requests, because a response to HEAD has no
 * body. Throws Error with the first place that is not HTTP. The last response may be incomplete where `mayBreakOff`.
 */
export function readResponses(bytes: Buffer, methods: readonly string[], mayBreakOff: boolean): RawResponse[] {
  const responses: RawResponse[] = []
  let at = 0
  while (at < bytes.length) {
    const headEnd = bytes.indexOf('\r\n\r\n', at)
    if (headEnd === -1) {
      if (mayBreakOff) break
      throw new Error(`no end of a head: ${preview(bytes, at)}`)
    }
    const head = bytes.toString('latin1', at, headEnd)
    const status = Number(/^HTTP\/1\.1 (\d{3}) [^\r\n]*(?:\r\n[!-9;-~]+: ?[^\r\n]*)*$/.exec(head)?.[1])
    if (!(status >= 100)) throw new Error(`no response head: ${preview(bytes, at)}`)
    at = headEnd + 4
    if (status < 200) continue
    const hasNoBody = methods[responses.length] === 'HEAD' || status === 204 || status === 304
    const read = hasNoBody ? { body: Buffer.alloc(0), end: at } : readBody(bytes, at, head)
    if (read === undefined) {
      if (mayBreakOff) break
      throw new Error(`a body breaks off behind ${JSON.stringify(head.slice(0, 300))}`)
    }
    at = read.end
    responses.push({ status, head: head.replaceAll(/\r\n[^:]+:/g, name => name.toLowerCase()), body: read.body })
  }
  return responses
}

/** Undefined when the body is not complete. */
function readBody(bytes: Buffer, start: number, head: string): { body: Buffer; end: number } | undefined {
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return readChunks(bytes, start)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  const end = length === undefined ? bytes.length : start + Number(length)
  return end > bytes.length ? undefined : { body: bytes.subarray(start, end), end }
}

function readChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | undefined {
  const chunks: Buffer[] = []
  let at = start
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error(`no size of a chunk: ${preview(bytes, at)}`)
    const end = lineEnd + 2 + size
    if (end + 2 > bytes.length) return undefined
    chunks.push(bytes.subarray(lineEnd + 2, end))
    at = end + 2
    if (size === 0) return { body: Buffer.concat(chunks), end: at }
  }
}

function preview(bytes: Buffer, at: number): string {
  return JSON.stringify(bytes.toString('latin1', at, at + 200))
}
