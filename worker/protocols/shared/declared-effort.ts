// What a request asks of a model's reasoning, as far as the alias declares that its model has an effort (decisions.md 74 and 81).

import type { NormalizedRequest, Reasoning } from '../../normalized/index.ts'
import type { ChatTarget } from '../provider-face.ts'

/** The effort word that switches reasoning off. */
export const NO_REASONING = 'none'

export interface DeclaredEffort {
  /** Without an effort that the alias does not declare. */
  reasoning: Reasoning | undefined
  /** The client's field of an effort that is left out. */
  leftOut: string[]
}

/** Leaves out an effort that the alias does not declare. Its off switch asks for nothing then. */
export function readDeclaredEffort(
  { reasoning, fieldPaths }: Pick<NormalizedRequest, 'reasoning' | 'fieldPaths'>,
  { features }: Pick<ChatTarget, 'features'>
): DeclaredEffort {
  const isDeclared = features === undefined || features.includes('reasoning_effort')
  if (isDeclared || reasoning?.effort === undefined) return { reasoning, leftOut: [] }
  const { effort, ...rest } = reasoning
  const { reasoning: path } = fieldPaths
  // A budget says the same on the wires that have one, and is sent.
  const isLost = effort !== NO_REASONING && reasoning.budgetTokens === undefined && path !== undefined
  return { reasoning: rest, leftOut: isLost ? [path] : [] }
}
