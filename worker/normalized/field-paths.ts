// Where a client protocol keeps what a request asks for, so that an error found after reading names the client's own field.

/** What a field of a client's body may ask for. A protocol without such a field leaves the path out. */
export type FieldName =
  | 'model'
  | 'stream'
  | 'messages'
  | 'tools'
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'output'
  | 'reasoning'
  /** The one name for all attachments, in families whose errors do not name the part. */
  | 'attachments'
  | 'uploadedFiles'
  | 'previousResponse'
  | 'conversation'
  | 'store'
  | 'background'
  | 'include'
  | 'user'
  | 'metadata'
  | 'additionalFields'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'maxOutputTokens'
  | 'stop'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'

type RequiredName = 'model' | 'messages' | 'tools' | 'toolChoice' | 'output' | 'stop'

/** One frozen constant per client face. */
export type FieldPaths = Readonly<Record<RequiredName, string> & Partial<Record<FieldName, string>>>
