// Stops and replacements under load (ops/guides/reliability.md).
import { lifecycleFaults } from '../../faults/lifecycle-faults.ts'
import { testEntries } from '../../faults/test-entries.ts'

testEntries(lifecycleFaults)
