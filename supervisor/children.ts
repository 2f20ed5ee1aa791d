// How the supervisor starts its processes: the workers, the writer of traffic records, the store of responses and the process of shared limits.

import { extname, join } from 'node:path'
import type { ListenOptions } from '../shared/ipc/messages.ts'
import type { MemoryPlan } from '../shared/memory-plan.ts'
import type { ServiceName } from '../shared/services.ts'
import { planGatewayMemory } from '../shared/services.ts'
import type { RuntimePlan } from './plan/runtime-plan.ts'
import { planAllocator } from './processes/allocator.ts'
import type { ForkChild } from './processes/child-process.ts'
import { listVariableNames } from './profile/variables.ts'
import { createServiceFork } from './services/service-keeper.ts'
import { planServiceArguments, planWorkerArguments } from './workers/worker-arguments.ts'
import { hideVariables } from './workers/worker-environment.ts'
import { createWorkerFork } from './workers/worker-fork.ts'

export interface Children {
  readonly forkWorker: ForkChild
  readonly forkService: Readonly<Record<ServiceName, ForkChild>>
}

/** Returns the forks of processes for a gateway with this plan. */
export function createChildren({ settings, profiles, keysFile }: RuntimePlan, { reusePort }: ListenOptions): Children {
  const memory = planGatewayMemory(settings)
  const environment = {
    ...hideVariables(process.env, [...listVariableNames(profiles.profiles), ...(keysFile?.loaded.variableNames ?? [])]),
    ...(memory !== undefined && planAllocator(process.env))
  }
  const extension = extname(import.meta.filename)
  const forkService = (folder: string) =>
    createServiceFork({
      entry: join(import.meta.dirname, `${folder}/main${extension}`),
      execArgv: [...process.execArgv, ...planServiceArguments({ memory, inherited: listInherited() })],
      environment
    })
  return {
    forkWorker: createWorkerFork({
      entry: join(import.meta.dirname, `../worker/main${extension}`),
      execArgv: chooseWorkerArguments(memory),
      sharesPort: reusePort,
      environment
    }),
    forkService: { writer: forkService('writer'), store: forkService('store'), limits: forkService('limits/redis') }
  }
}

function chooseWorkerArguments(memory: MemoryPlan | undefined): string[] {
  const planned = planWorkerArguments({ memory, engineVersion: process.versions.v8, inherited: listInherited() })
  return [...process.execArgv, ...planned]
}

function listInherited(): string[] {
  return [...process.execArgv, ...(process.env.NODE_OPTIONS ?? '').split(/\s+/)]
}
