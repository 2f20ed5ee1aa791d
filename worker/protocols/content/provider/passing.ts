// Passes content requests on to a provider that speaks the same protocol (ADR 2026-11-25-passing-one-protocol).

import { asBuffer } from '../../../../shared/bytes.ts'
import type { PassingCodec } from '../../face.ts'
import { reusePassedBody } from '../../shared/passed-body.ts'
import { renameText, renameTextInFrame } from '../../shared/renamed-text.ts'
import { STREAM_HEADERS, WIRE_HEADERS } from '../../shared/wire-headers.ts'
import { contentCompatibleTokenCount } from './count-tokens.ts'
import { writeMethodPath } from './endpoints.ts'
import type { ContentCompatibleOptions } from './options.ts'
import { writePassedBody, writePassedTokenCount } from './passed-body.ts'
import type { ContentCompatibleReading } from './reading.ts'

/** Nothing of the body was written in another form. */
const READING: ContentCompatibleReading = { toolNames: new Map(), droppedToolCalls: 0, isPassed: true }

/** Names the model in a whole response and in every chunk of a stream. */
const MODEL = ['modelVersion']

export const contentCompatiblePassing: PassingCodec<ContentCompatibleOptions, ContentCompatibleReading> = {
  protocol: 'content',
  writeChat(body, { upstreamModel, isStream, wireHeaders = [] }, options) {
    const method = isStream ? 'streamGenerateContent' : 'generateContent'
    return {
      method: 'POST',
      path: writeMethodPath(upstreamModel, method, options) + (isStream ? '?alt=sse' : ''),
      headers: [...(isStream ? STREAM_HEADERS : WIRE_HEADERS), ...wireHeaders],
      body: writePassedBody(body, upstreamModel),
      attachments: [],
      reading: READING
    }
  },
  writeTokenCount: (body, { upstreamModel, wireHeaders = [] }, options) => ({
    method: 'POST',
    path: writeMethodPath(upstreamModel, 'countTokens', options),
    headers: [...WIRE_HEADERS, ...wireHeaders],
    body: writePassedTokenCount(body, upstreamModel)
  }),
  readTokenCount: body => contentCompatibleTokenCount.read(body, { count: 1 })[0] ?? 0,
  reuseBody: (bytes, received, written) => reusePassedBody(bytes, { received, written }),
  renameResponse: (bytes, publicModel) => renameText(asBuffer(bytes), MODEL, publicModel),
  renameFrame: (frame, publicModel) =>
    isEndMark(asBuffer(frame)) ? NO_FRAME : renameTextInFrame(asBuffer(frame), MODEL, publicModel)
}

const NO_FRAME = Buffer.alloc(0)
const END_MARK = 'data: [DONE]'
const END_MARK_FRAME_BYTES_MAX = 32

/**
 * Proxies in front of some services add the end mark of another wire, which SDKs of this one cannot
 * read (field-lessons.md A17).
 */
function isEndMark(frame: Buffer): boolean {
  return frame.length <= END_MARK_FRAME_BYTES_MAX && frame.toString('utf8').trim() === END_MARK
}
