// Passes message requests on to a provider that speaks the same protocol (ADR 2026-11-25-passing-one-protocol).

import { asBuffer } from '../../../../shared/bytes.ts'
import type { PassingCodec } from '../../face.ts'
import { reusePassedBody } from '../../shared/passed-body.ts'
import { renameText, renameTextInFrame } from '../../shared/renamed-text.ts'
import { readTokenCount } from './count-tokens.ts'
import { MESSAGES_HEADERS, MESSAGES_STREAM_HEADERS } from './headers.ts'
import type { MessagesCompatibleOptions } from './options.ts'
import { writePassedBody } from './passed-body.ts'
import type { MessagesCompatibleReading } from './reading.ts'

/** Nothing of the body was written in another form. */
const READING: MessagesCompatibleReading = { toolNames: new Map(), needsJsonArguments: false, droppedToolCalls: 0 }

export const messagesCompatiblePassing: PassingCodec<MessagesCompatibleOptions, MessagesCompatibleReading> = {
  protocol: 'messages',
  writeChat: (body, { upstreamModel, isStream, wireHeaders = [] }, { messagesPath }) => ({
    method: 'POST',
    path: messagesPath,
    headers: [...(isStream ? MESSAGES_STREAM_HEADERS : MESSAGES_HEADERS), ...wireHeaders],
    body: writePassedBody(body, upstreamModel),
    attachments: [],
    reading: READING
  }),
  writeTokenCount: (body, { upstreamModel, wireHeaders = [] }, { countTokensPath }) => ({
    method: 'POST',
    path: countTokensPath,
    headers: [...MESSAGES_HEADERS, ...wireHeaders],
    body: writePassedBody(body, upstreamModel)
  }),
  readTokenCount,
  reuseBody: (bytes, received, written) => reusePassedBody(bytes, { received, written, member: 'model' }),
  renameResponse: (bytes, publicModel) => renameText(asBuffer(bytes), ['model'], publicModel),
  endFrame: Buffer.from('event: message_stop\ndata: {"type":"message_stop"}\n\n'),
  renameFrame(frame, publicModel) {
    const buffer = asBuffer(frame)
    return mayNameModel(buffer) ? renameTextInFrame(buffer, ['message', 'model'], publicModel) : buffer
  }
}

/** The first frame of a stream holds the message, and with it the model: the others are not stepped through. An escape may spell any name. */
function mayNameModel(frame: Buffer): boolean {
  return frame.includes('model') || frame.includes('\\u')
}
