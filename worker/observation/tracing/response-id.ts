import type { RequestView } from '../observer.ts'
import type { CallRecord } from './call-record.ts'

/** The id that the client sees in the response; undefined where no response began. */
export function findResponseId({ requestId }: Pick<RequestView, 'requestId'>, record: CallRecord): string | undefined {
  const { description, response } = record
  if (description?.type !== 'chat' || response.eventCount === 0) return undefined
  switch (description.protocol) {
    case 'completions':
      return response.identityId ?? `chatcmpl-${requestId}`
    case 'responses':
      return `resp_${response.conversationId ?? response.identityId ?? description.threadId ?? requestId}`
    case 'messages':
      return `msg_${requestId}`
    case 'content':
      return requestId
  }
}
