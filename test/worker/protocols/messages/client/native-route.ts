// Messages requests on the native route.

import { readMessagesRequest } from '../../../../../worker/protocols/messages/client/face.ts'
import { createMessagesStreamWriter } from '../../../../../worker/protocols/messages/client/stream.ts'
import { writeMessagesResponse } from '../../../../../worker/protocols/messages/client/write-response.ts'
import { createSend } from '../../../../support/native-route.ts'

export const send = createSend({
  smallest: { model: 'GigaChat-2-Max', messages: [{ role: 'user', content: 'hi' }] },
  read: readMessagesRequest,
  writeResponse: writeMessagesResponse,
  createStreamWriter: createMessagesStreamWriter
})
