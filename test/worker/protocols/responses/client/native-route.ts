// Responses requests on the native route.

import { readResponsesRequest } from '../../../../../worker/protocols/responses/client/face.ts'
import { createResponsesStreamWriter } from '../../../../../worker/protocols/responses/client/stream.ts'
import { writeResponsesResponse } from '../../../../../worker/protocols/responses/client/write-response.ts'
import { createSend } from '../../../../support/native-route.ts'

export const send = createSend({
  smallest: { model: 'GigaChat-2', input: 'x' },
  read: readResponsesRequest,
  writeResponse: writeResponsesResponse,
  createStreamWriter: createResponsesStreamWriter
})
