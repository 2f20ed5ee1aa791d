// Files that the client uploaded before: their ids come in a header, beside a body that has no place for them (responses.md 2).

import { GatewayError } from '../../../normalized/index.ts'

export const ATTACHMENT_IDS_HEADER = 'x-gateway-attachment-ids'

/** As many as the upstream takes with one request. */
const IDS_MAX = 10
const FILE_ID = /^[A-Za-z0-9._:-]{1,200}$/

/** Reads the header's comma list; undefined when there is no header. Raises `invalid_attachment_ids`. */
export function readAttachmentIds(header: string | undefined): string[] | undefined {
  if (header === undefined) return undefined
  const ids = header.split(',').map(id => id.trim())
  const isValid = ids.length <= IDS_MAX && new Set(ids).size === ids.length && ids.every(id => FILE_ID.test(id))
  if (isValid) return ids
  throw new GatewayError('invalid_attachment_ids', {
    param: ATTACHMENT_IDS_HEADER,
    message: `'${ATTACHMENT_IDS_HEADER}' must be a comma list of 1 to ${IDS_MAX} different file ids.`
  })
}
