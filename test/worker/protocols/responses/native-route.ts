// Responses requests on the native route.

import { readResponsesRequest } from '../../../../worker/protocols/responses/client.ts'
import { createResponsesStreamWriter } from '../../../../worker/protocols/responses/stream.ts'
import { writeResponsesResponse } from '../../../../worker/protocols/responses/write-response.ts'
import { createSend } from '../../../support/native-route.ts'

export const send = createSend({
  smallest: { model: 'GigaChat-2', input: 'x' },
  read: readResponsesRequest,
  writeResponse: writeResponsesResponse,
  createStreamWriter: createResponsesStreamWriter
})
