// The readers of the tests that know the form of each family: its error envelope, the end of its streams, and their grammar.

import { type Family, readError, readEnd as readFamilyEnd } from '../../test/end-to-end/system/support.ts'
import { readStrictly as readCompletions } from '../../test/properties/completions-chunks.ts'
import { readArrayStream, readEventStream } from '../../test/properties/content-chunks.ts'
import { readStrictly as readMessages } from '../../test/properties/messages-frames.ts'
import { readResponsesStrictly } from '../../test/properties/responses-events.ts'
import type { HttpResponse } from '../../test/support/client.ts'

export { type Family, type HttpResponse, readError }

/** How a stream ended. Throws when it has no clear end. */
export function readEnd({ family, form }: { family: Family; form: string }, text: string): 'success' | 'error' {
  if (family !== 'content') return readFamilyEnd(family, text)
  const { error } = form === 'array-stream' ? readArrayStream(text) : readEventStream(text)
  return error === undefined ? 'success' : 'error'
}

/** Reads a whole stream. Throws with the first rule of the family's grammar that it breaks. */
export function readStream({ family, form }: { family: Family; form: string }, text: string): void {
  switch (family) {
    case 'completions':
      readCompletions(text)
      break
    case 'responses':
      readResponsesStrictly(text)
      break
    case 'messages':
      readMessages(text)
      break
    case 'content':
      if (form === 'array-stream') readArrayStream(text)
      else readEventStream(text)
  }
}
