// What a worker asks of the supervisor and waits for. A further pair of request and reply is one line here.
import { type Asker, createAsker } from './ask.ts'
import type { SupervisorMessage, WorkerMessageContent } from './messages.ts'

/** Each request with the replies that end it. Another message with the id of a request is an interim one. */
const workerRequests = {
  'slot-acquire': ['slot-granted', 'slot-refused'],
  /** The interim message `catalog-lease` makes this worker the one that fetches. */
  'catalog-refresh': ['catalog-result', 'catalog-unavailable']
} as const

type WorkerRequest = Extract<WorkerMessageContent, { kind: keyof typeof workerRequests }>
type SupervisorReply = Extract<SupervisorMessage, { requestId: number }>

export type WorkerAsker = Asker<WorkerRequest, SupervisorReply, typeof workerRequests>

/** The asker of a worker. `send` is called with each request. */
export function createWorkerAsker(send: (request: WorkerRequest) => void): WorkerAsker {
  return createAsker<WorkerRequest, SupervisorReply, typeof workerRequests>(workerRequests, send)
}
