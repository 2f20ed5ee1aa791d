// One frame of a stream before it is framed for the wire.

export interface Frame {
  event: string | null
  data: string
  /** `finish` holds the finish reason; `done` is the end marker after it. */
  kind: 'delta' | 'finish' | 'done'
}
