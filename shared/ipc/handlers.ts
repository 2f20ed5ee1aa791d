// Tables of message handlers: a missing or an unknown kind is a compile error.
import type { MessageOf, SupervisorMessageFields, WorkerMessageFields } from './messages.ts'

/** The worker process that sent a message. A respawned worker is another owner. */
export interface MessageSender {
  readonly owner: number
}

/** One handler for each kind; `context` says where the message comes from. */
export type MessageHandlers<FieldsByKind, Kind extends keyof FieldsByKind, Context> = {
  readonly [One in Kind]: (message: MessageOf<FieldsByKind, One>, context: Context) => void
}

/** What a worker does with messages of the supervisor. */
export type SupervisorMessageHandlers<
  Kind extends keyof SupervisorMessageFields = keyof SupervisorMessageFields,
  Context = void
> = MessageHandlers<SupervisorMessageFields, Kind, Context>

/** What the supervisor does with messages of a worker. */
export type WorkerMessageHandlers<
  Kind extends keyof WorkerMessageFields = keyof WorkerMessageFields,
  Context = void
> = MessageHandlers<WorkerMessageFields, Kind, Context>

/** Calls the handler of the message's kind. */
export function handleMessage<FieldsByKind, Kind extends keyof FieldsByKind, Context>(
  handlers: MessageHandlers<FieldsByKind, Kind, Context>,
  message: MessageOf<FieldsByKind, Kind>,
  context: Context
): void {
  const kind: Kind = message.kind
  // Messages were read by a table of their own; what every object inherits is no handler all the same.
  if (Object.hasOwn(handlers, kind)) handlers[kind](message, context)
}
