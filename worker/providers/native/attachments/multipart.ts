// A multipart/form-data body in one piece: text fields, then one file. It is built by hand because the file is in memory anyway
// and must go out with its length known.

import { randomUUID } from 'node:crypto'

export interface MultipartFile {
  bytes: Uint8Array
  filename: string
  mediaType: string
}

/** Writes the fields in order and the file as the part `file`. */
export function writeMultipart(
  fields: Readonly<Record<string, string>>,
  file: MultipartFile
): { contentType: string; body: Buffer } {
  // Random, so that no file can hold it by intent.
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

/** The escapes of HTML forms: a name can neither end its quotes nor begin a header. */
function quote(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
