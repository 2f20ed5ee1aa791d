// All entries of the suite, in the order of the page.

import { clientFaults } from './client-faults.ts'
import { lifecycleFaults } from './lifecycle-faults.ts'
import { networkFaults } from './network-faults.ts'
import { processFaults } from './process-faults.ts'
import { resourceFaults } from './resource-faults.ts'
import type { FaultEntry } from './types.ts'

export interface FaultClass {
  readonly title: string
  readonly entries: readonly FaultEntry[]
}

export const faultClasses: readonly FaultClass[] = [
  { title: 'Processes', entries: processFaults },
  { title: 'Resources of the host', entries: resourceFaults },
  { title: 'Names, certificates, tokens and providers', entries: networkFaults },
  { title: 'Clients', entries: clientFaults },
  { title: 'Stops and replacements', entries: lifecycleFaults }
]

export const faultEntries: readonly FaultEntry[] = faultClasses.flatMap(({ entries }) => entries)
