// Reads the conversation that reached the upstream in one form, whichever of the two contracts carried it.

export interface UpstreamTurn {
  role: string
  text?: string
  /** Name and arguments of every call, in order. */
  calls?: Array<[name: string, arguments: unknown]>
  /** Name and value of every function result, in order. */
  results?: Array<[name: string, result: unknown]>
  /** How many uploaded files it has. */
  files?: number
}

// biome-ignore-start lint/suspicious/noExplicitAny: a test asserts on the members it expects and fails when they are not there.

/** The turns of a chat body; results have the role `tool` in both contracts. Members that a turn does not have are absent. */
export function readTurns(body: any): UpstreamTurn[] {
  return body.messages.map((message: any) =>
    typeof message.content === 'string' ? readTurnOfV1(message) : readTurnOfV2(message)
  )
}

/** The state ids of the calls of a v2 body, and those that its results refer to; v1 carries none. */
export function readStateIds(body: any): { calls: string[]; results: string[] } {
  const ids = (role: string) =>
    body.messages
      .filter((message: any) => message.role === role && message.tools_state_id !== undefined)
      .map((message: any) => message.tools_state_id)
  return { calls: ids('assistant'), results: ids('tool') }
}

function readTurnOfV1(message: any): UpstreamTurn {
  if (message.role === 'function') return { role: 'tool', results: [[message.name, JSON.parse(message.content)]] }
  const call = message.function_call
  return compact({
    role: message.role,
    text: message.content,
    calls: call === undefined ? [] : [[call.name, call.arguments]],
    files: message.attachments?.length ?? 0
  })
}

function readTurnOfV2(message: any): UpstreamTurn {
  const parts = (kind: string) => message.content.flatMap((part: any) => (kind in part ? [part[kind]] : []))
  return compact({
    role: message.role,
    text: parts('text').join(''),
    calls: parts('function_call').map((call: any) => [call.name, call.arguments]),
    results: parts('function_result').map((result: any) => [result.name, result.result]),
    files: parts('files').flat().length
  })
}

// biome-ignore-end lint/suspicious/noExplicitAny: see above.

/** Removes empty members. */
function compact(turn: UpstreamTurn): UpstreamTurn {
  const kept = Object.entries(turn).filter(([, value]) =>
    Array.isArray(value) ? value.length > 0 : value !== '' && value !== 0
  )
  return Object.fromEntries(kept) as unknown as UpstreamTurn
}
