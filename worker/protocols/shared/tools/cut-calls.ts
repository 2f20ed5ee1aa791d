// The call in which a response was cut off: its arguments are incomplete, so that no agent may run it. Families whose calls have objects as
// arguments leave it out.

import { isJsonObject, type NormalizedResponse, type OutputItem, tryParseJson } from '../../../normalized/index.ts'

/** True for a response that ended before the model did. */
export function isCut({ reason }: Pick<NormalizedResponse['finish'], 'reason'>): boolean {
  return reason === 'length' || reason === 'content-filter'
}

/** True for a call of a cut response whose arguments are incomplete. */
export function isCutCall(item: OutputItem, finish: Pick<NormalizedResponse['finish'], 'reason'>): boolean {
  return item.type === 'tool-call' && isCut(finish) && !isInput(item.arguments)
}

/** True for arguments that are a JSON object. */
export function isInput(text: string): boolean {
  return isJsonObject(tryParseJson(text))
}
