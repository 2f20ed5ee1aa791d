export const known: ReadonlyArray<{ kind: string; rule: RegExp }> = [
  { kind: 'http', rule: /^a request with ambiguous framing is accepted/ },
  { kind: 'http', rule: /^no response to CONNECT / },
  { kind: 'answers', rule: /unhandled_fault at CallArguments\.add .*Maximum call stack size exceeded/ }
]
