// Reads a `multipart/form-data` body. Node's own reader (`Response.formData()`) is not used, because it takes the bare
// boundary text inside a file for a boundary.
import { badRequest } from './errors.ts'

export interface ReceivedForm {
  fields: Record<string, string>
  files: Array<{ field: string; filename: string; contentType: string; content: Buffer }>
}

const PARTS_MAX = 100
const CRLF = '\r\n'
const DASHES = '--'

/**
 * Reads the fields and files of a form.
 * @throws UpstreamError 400 for another content type or a malformed body.
 */
export function readMultipart(body: Buffer, contentType: string | undefined): ReceivedForm {
  const parameters = /^multipart\/form-data\s*;(.*)$/is.exec(contentType ?? '')?.[1]
  const boundary = /(?:^|;)\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(parameters ?? '')
  if (boundary === null) throw badRequest('multipart/form-data with a boundary expected')
  const form: ReceivedForm = { fields: {}, files: [] }
  // Only the first boundary has no line end before it; an added one lets the same delimiter find all of them.
  const bytes = Buffer.concat([Buffer.from(CRLF), body])
  const delimiter = Buffer.from(`${CRLF}${DASHES}${boundary[1] ?? boundary[2]}`)
  let start = bytes.indexOf(delimiter)
  for (let part = 0; part < PARTS_MAX && start !== -1; part++) {
    const after = start + delimiter.length
    if (bytes.toString('latin1', after, after + 2) === DASHES) return form
    const lineEnd = bytes.indexOf(CRLF, after)
    const end = bytes.indexOf(delimiter, after)
    if (lineEnd === -1 || end === -1) break
    readPart(bytes.subarray(lineEnd + 2, end), form)
    start = end
  }
  throw badRequest('the multipart body is malformed')
}

function readPart(part: Buffer, form: ReceivedForm): void {
  const headEnd = part.indexOf(`${CRLF}${CRLF}`)
  if (headEnd === -1) throw badRequest('a part of the multipart body has no headers')
  const head = part.toString('utf8', 0, headEnd)
  const content = part.subarray(headEnd + 4)
  const disposition = /^content-disposition:\s*form-data\s*;(.*)$/im.exec(head)?.[1] ?? ''
  const field = readParameter(disposition, 'name')
  if (field === undefined) throw badRequest('a part of the multipart body has no name')
  const filename = readParameter(disposition, 'filename')
  if (filename === undefined) form.fields[field] = content.toString('utf8')
  else {
    const contentType = /^content-type:\s*(.*?)\s*$/im.exec(head)?.[1] ?? 'application/octet-stream'
    // A copy: a view into the body would keep the whole request body in memory as long as the file is stored.
    form.files.push({ field, filename, contentType, content: Buffer.from(content) })
  }
}

/** Reads a parameter in its plain, quoted or encoded (`name*=`) form. */
function readParameter(disposition: string, name: string): string | undefined {
  const encoded = new RegExp(`;\\s*${name}\\*=utf-8''([^;\\s]+)`, 'i').exec(`;${disposition}`)?.[1]
  if (encoded !== undefined) return decodePercent(encoded)
  const match = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]*))`, 'i').exec(`;${disposition}`)
  if (match === null) return undefined
  const quoted = match[1]
  if (quoted === undefined) return match[2] ?? ''
  return quoted.replaceAll(/\\(["\\])/g, '$1').replaceAll(/%(22|0D|0A)/gi, code => decodePercent(code))
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
