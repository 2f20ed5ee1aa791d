// Reads the ids of files that the client uploaded before, from a header, because the body has no member for them (responses.md 2).

import { GatewayError } from '../../../normalized/index.ts'

export const ATTACHMENT_IDS_HEADER = 'x-gateway-attachment-ids'

/** The upstream's limit for one request. */
const IDS_MAX = 10
const FILE_ID = /^[A-Za-z0-9._:-]{1,200}$/

/** Reads the comma-separated header; undefined when it is absent. Raises `invalid_attachment_ids`. */
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
