// The parts of a worker that the execution of a planned request uses, in addition to those of its HTTP side.

import type { RouteTable } from '../bridge/resolve-route.ts'
import type { ControlChannel } from '../control/control-channel.ts'
import type { HttpRuntime } from '../http/http-runtime.ts'
import type { ProviderFaces } from '../protocols/registry.ts'
import type { Executors } from '../providers/types.ts'
import type { TargetPool } from '../targets/target-pool.ts'
import type { Translator } from '../translation/translator.ts'

export interface ExecutionRuntime extends HttpRuntime {
  readonly control: ControlChannel
  readonly routes: RouteTable
  readonly faces: ProviderFaces
  readonly executors: Executors
  readonly targets: TargetPool
  readonly translator: Translator
}
