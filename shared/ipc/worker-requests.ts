// What a worker asks of the supervisor and waits for. A further pair of request and reply is one line here.
import { type Asker, createAsker } from './ask.ts'
import type { SupervisorMessage, WorkerMessageContent } from './messages.ts'

/** Each request with the replies that end it. Another message with the id of a request is an interim one. */
const workerRequests = {
  'slot-acquire': ['slot-granted', 'slot-refused'],
  'target-trial': ['target-trial-granted', 'target-trial-refused'],
  /** The interim message `catalog-lease` makes this worker the one that fetches. */
  'catalog-refresh': ['catalog-result', 'catalog-unavailable'],
  'metrics-scrape': ['metrics-text'],
  'running-list': ['running-listed'],
  'limits-lease': ['limits-granted', 'limits-refused', 'limits-unavailable'],
  'keys-usage': ['keys-usage-listed']
} as const

type RequestKind = keyof typeof workerRequests
type WorkerRequest<Kind extends RequestKind> = Extract<WorkerMessageContent, { kind: Kind }>
type SupervisorReply = Extract<SupervisorMessage, { requestId: number }>

export type WorkerAsker<Kind extends RequestKind> = Asker<
  WorkerRequest<Kind>,
  SupervisorReply,
  Pick<typeof workerRequests, Kind>
>

/** The asker of a worker for some kinds of request. `send` is called with each request. */
export function createWorkerAsker<Kind extends RequestKind>(
  send: (request: WorkerRequest<Kind>) => void
): WorkerAsker<Kind> {
  return createAsker<WorkerRequest<Kind>, SupervisorReply, Pick<typeof workerRequests, Kind>>(workerRequests, send)
}
