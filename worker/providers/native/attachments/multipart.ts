// Writes a multipart/form-data body as one buffer: text fields, then one file (upstream.md 8). Own
// code, because Node's `new Response(form)` takes 5 times the processor time: 147 ms against 30 ms
// for a file of 40 MB, and 0.17 ms against 0.02 ms for one of 50 kB.

import { randomUUID } from 'node:crypto'

export interface MultipartFile {
  bytes: Uint8Array
  filename: string
  mediaType: string
}

/** Writes the fields in order and the file as the part `file`. Returns the body and its `content-type`. */
export function writeMultipart(
  fields: Readonly<Record<string, string>>,
  file: MultipartFile
): { contentType: string; body: Buffer } {
  // Random, so that no file can contain the boundary on purpose.
  const boundary = `gateway-${randomUUID()}`
  const head = Object.entries(fields)
    .map(
      ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${quote(name)}"\r\n\r\n${value}\r\n`
    )
    .join('')
  const fileHead =
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${quote(file.filename)}"\r\n` +
    `Content-Type: ${file.mediaType.replace(/[\r\n]/g, '')}\r\n\r\n`
  const body = Buffer.concat([Buffer.from(head + fileHead), file.bytes, Buffer.from(`\r\n--${boundary}--\r\n`)])
  return { contentType: `multipart/form-data; boundary=${boundary}`, body }
}

/** Escapes a name as HTML forms do, so that it can neither end its quotes nor add a header. */
function quote(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
