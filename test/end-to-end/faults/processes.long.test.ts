// Processes that are killed, stuck or out of memory (ops/guides/reliability.md).
import { processFaults } from '../../faults/process-faults.ts'
import { testEntries } from '../../faults/test-entries.ts'

testEntries(processFaults)
