// The kinds of cases, each bound to the runner.

import { createAnswerKind } from './answers.ts'
import { createHttpKind } from './http.ts'
import { createRequestKind } from './requests.ts'
import { type Finding, type FuzzLimits, runKind } from './run.ts'
import type { FuzzTarget } from './target.ts'
import type { FuzzKind } from './types.ts'

export interface RunnableKind {
  name: string
  run(target: FuzzTarget, limits: FuzzLimits, onFinding: (finding: Finding) => boolean): Promise<number>
}

export const kinds: readonly RunnableKind[] = [
  bind(createRequestKind()),
  bind(createAnswerKind()),
  bind(createHttpKind())
]

function bind<Case>(kind: FuzzKind<Case>): RunnableKind {
  return { name: kind.name, run: (target, limits, onFinding) => runKind(kind, target, limits, onFinding) }
}
